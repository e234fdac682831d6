package dev.metaroce.tools.sim;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.tools.cli.Progress;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** How much payload has arrived, shown on a terminal when it takes long. */
final class SimProgress implements AutoCloseable {
    private static final long SHOWN_AFTER_NS = 2_000_000_000L;
    private static final long LOOK_EVERY_NS = 300_000_000L;

    private final Simulation simulation;
    private final PrintWriter err;
    private final long startNs = System.nanoTime();
    private final boolean hasBar = Progress.hasBar();
    private long nextNs = startNs + SHOWN_AFTER_NS;
    private @Nullable Progress shown;

    SimProgress(Simulation simulation, PrintWriter err) {
        this.simulation = simulation;
        this.err = err;
    }

    /** Looks whenever somebody asks whether to go on. */
    BooleanSupplier looking(BooleanSupplier mayGoOn) {
        return () -> {
            look();
            return mayGoOn.getAsBoolean();
        };
    }

    private void look() {
        long nowNs = System.nanoTime();
        if (!hasBar || nowNs - nextNs < 0) {
            return;
        }
        nextNs = nowNs + LOOK_EVERY_NS;
        if (shown == null) {
            Duration elapsed = Duration.ofNanos(nowNs - startNs);
            shown = Progress.ofBytesSince(elapsed, arrivedBytes(), "simulating", allBytes(), err);
        } else {
            shown.at(arrivedBytes());
        }
    }

    private long allBytes() {
        Flows flows = simulation.flows();
        long sum = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            sum += flows.bytes(flow);
        }
        return sum;
    }

    private long arrivedBytes() {
        long sum = 0;
        for (int host = 0; host < simulation.topology().hosts(); host++) {
            sum += simulation.engine(host).counters().get(CounterId.PAYLOAD_BYTES);
        }
        return sum;
    }

    @Override
    public void close() {
        if (shown != null) {
            shown.close();
        }
    }
}
