package dev.metaroce.sim.run;

import dev.metaroce.event.CounterId;

import org.jspecify.annotations.Nullable;

import java.util.function.BooleanSupplier;

/**
 * Runs a simulation until its flows have ended, or going on is of no use. Looks at it in between,
 * which changes nothing of what is simulated.
 */
public final class Supervisor {
    /** How a run ended. */
    public enum Outcome {
        /** All flows ended, well or with an error. */
        COMPLETED,
        /** Flows are open, and nothing is left that could happen. */
        NOTHING_LEFT,
        /** Flows are open, and for long no payload was accepted and no flow ended. */
        NO_PROGRESS,
        /** The simulated time is up. */
        TIME_UP,
        /** Whoever runs it wanted no more. */
        INTERRUPTED
    }

    private static final long SLICE_EVENTS = 1 << 16;
    private static final int CHECKS_PER_PATIENCE = 10;

    private final Simulation simulation;
    private final long endPs;
    private final long patiencePs;
    private final @Nullable Series series;
    private long nextCheckPs;
    private long progress = -1;
    private long progressPs;

    /**
     * @param maxTimePs when to stop at the latest
     * @param patiencePs how long nothing may get ahead
     * @param series where samples go; null for none
     */
    public Supervisor(
            Simulation simulation, long maxTimePs, long patiencePs, @Nullable Series series) {
        this.simulation = simulation;
        this.endPs = maxTimePs;
        this.patiencePs = patiencePs;
        this.series = series;
        nextCheckPs = patiencePs / CHECKS_PER_PATIENCE;
    }

    /**
     * @param mayGoOn asked every so many events, several times a second
     */
    public Outcome run(BooleanSupplier mayGoOn) {
        pause();
        while (mayGoOn.getAsBoolean()) {
            switch (simulation.advance(SLICE_EVENTS)) {
                case ALL_ENDED -> {
                    return Outcome.COMPLETED;
                }
                case NO_EVENTS -> {
                    return Outcome.NOTHING_LEFT;
                }
                case PAUSED -> {
                    if (simulation.nowPs() >= endPs) {
                        return Outcome.TIME_UP;
                    }
                    if (isStuck()) {
                        return Outcome.NO_PROGRESS;
                    }
                    sample();
                    pause();
                }
                case EVENTS_DONE -> {}
            }
        }
        return Outcome.INTERRUPTED;
    }

    private void pause() {
        long next = Math.min(endPs, nextCheckPs);
        simulation.pauseAt(series == null ? next : Math.min(next, series.nextPs()));
    }

    private void sample() {
        if (series != null && simulation.nowPs() >= series.nextPs()) {
            series.sample();
        }
    }

    private boolean isStuck() {
        long nowPs = simulation.nowPs();
        if (nowPs < nextCheckPs) {
            return false;
        }
        nextCheckPs = nowPs + patiencePs / CHECKS_PER_PATIENCE;
        long now = progress();
        if (now != progress || !hasStartedFlow()) {
            progress = now;
            progressPs = nowPs;
        }
        return nowPs - progressPs >= patiencePs;
    }

    private long progress() {
        long sum = simulation.flows().ended();
        for (int host = 0; host < simulation.topology().hosts(); host++) {
            sum += simulation.engine(host).counters().get(CounterId.PAYLOAD_BYTES);
        }
        return sum;
    }

    /** False in a gap of the workload. */
    private boolean hasStartedFlow() {
        Flows flows = simulation.flows();
        for (int flow = 0; flow < flows.count(); flow++) {
            if (flows.isOpen(flow) && flows.startPs(flow) <= simulation.nowPs()) {
                return true;
            }
        }
        return false;
    }
}
