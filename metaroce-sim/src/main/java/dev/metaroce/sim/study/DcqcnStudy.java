package dev.metaroce.sim.study;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.verbs.QueuePair;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Two endless flows of RoCEv2 meet at one port: the second comes a sample after the first. DCQCN is
 * to bring both to half of the line.
 */
public final class DcqcnStudy {
    private static final int SENDERS = 2;

    /** Samples that are judged together, and how near to the fair share they are to be. */
    private static final int WINDOW = 10;

    private static final double NEAR = 0.1;

    private static final double BUFFER_BYTES_PER_100G = 12 << 20;

    /** Of the largest size, one after the other: more than is sent. */
    private static final int MESSAGES = 8;

    /**
     * What is measured.
     *
     * @param rateBitsPerSecond of every link
     * @param delayPs of every link
     * @param lossless PFC for data
     * @param samplePs time between samples
     * @param samples how many
     */
    public record Setup(
            long seed,
            DcqcnSettings dcqcn,
            long rateBitsPerSecond,
            long delayPs,
            boolean lossless,
            long samplePs,
            int samples) {
        /** A buffer so large that marks come long before pauses. */
        private FabricConfig fabric() {
            long buffer = (long) (BUFFER_BYTES_PER_100G * (rateBitsPerSecond / 100e9));
            return FabricConfig.roce(lossless).toBuilder().switchBufferBytes(buffer).build();
        }
    }

    /** Payload acknowledged by each of both since the sample before, and the queue they meet in. */
    public record Sample(double ms, double firstGbps, double secondGbps, long queueBytes) {}

    /**
     * What came of it.
     *
     * @param reachedMs end of the first ten samples over which both had their fair share within 10
     *     %; NaN: there are none
     * @param firstShare payload of the first in the second half of the time, of what half of the
     *     line carries
     * @param secondShare that of the second
     */
    public record Outcome(
            Setup setup,
            List<Sample> samples,
            double reachedMs,
            double firstShare,
            double secondShare,
            long cnps,
            long pauses,
            long dropped,
            long queueBytesMax) {}

    private final Setup setup;
    private final Simulation simulation;

    private DcqcnStudy(Setup setup) {
        this.setup = setup;
        simulation =
                new Simulation(
                        new SimConfig(
                                        setup.seed(),
                                        SimConfig.limits(0),
                                        setup.fabric(),
                                        NicModel.NONE,
                                        Connections.WARM)
                                .with(
                                        SimConfig.roce(setup.rateBitsPerSecond()).toBuilder()
                                                .dcqcn(setup.dcqcn())
                                                .build()),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.STAR)
                                        .hosts(SENDERS + 1)
                                        .hostRate(setup.rateBitsPerSecond())
                                        .delayPs(setup.delayPs())
                                        .build()));
        for (int i = 0; i < SENDERS * MESSAGES; i++) {
            int sender = i % SENDERS;
            long atPs = sender * setup.samplePs();
            simulation.addFlow(sender, SENDERS, QueuePair.MAX_MESSAGE_BYTES, atPs);
        }
    }

    /**
     * Runs both flows.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new DcqcnStudy(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        List<Sample> samples = new ArrayList<>();
        long[] acknowledged = new long[SENDERS];
        while (samples.size() < setup.samples() && mayGoOn.getAsBoolean()) {
            long atPs = (samples.size() + 1) * setup.samplePs();
            simulation.pauseAt(atPs);
            while (simulation.advance(1 << 16) == Simulation.Stop.EVENTS_DONE) {}
            double[] gbps = new double[SENDERS];
            for (int sender = 0; sender < SENDERS; sender++) {
                long now = acknowledged(sender);
                gbps[sender] = Summary.gbps(now - acknowledged[sender], setup.samplePs());
                acknowledged[sender] = now;
            }
            long queue = simulation.fabric().port(receiverPort()).queueBytes();
            samples.add(new Sample(atPs / 1e9, gbps[0], gbps[1], queue));
        }
        return outcome(List.copyOf(samples));
    }

    private long acknowledged(int sender) {
        long sum = 0;
        for (int flow = sender; flow < simulation.flows().count(); flow += SENDERS) {
            boolean begun = simulation.flows().startPs(flow) < simulation.nowPs();
            sum += begun ? simulation.flows().bytes(flow) - simulation.missingBytes(flow) : 0;
        }
        return sum;
    }

    private Outcome outcome(List<Sample> samples) {
        List<Sample> half = samples.subList(samples.size() / 2, samples.size());
        double fair = setup.rateBitsPerSecond() / 1e9 / SENDERS * 4096 / (4096 + 16 + 66);
        long pauses = 0;
        long dropped = 0;
        for (int id = 0; id < simulation.fabric().ports(); id++) {
            pauses += simulation.fabric().port(id).pauses();
            dropped += simulation.fabric().port(id).drops();
        }
        return new Outcome(
                setup,
                samples,
                reachedMs(samples, fair),
                mean(half, 0) / fair,
                mean(half, 1) / fair,
                simulation.engine(SENDERS).counters().get(CounterId.CNPS_SENT),
                pauses,
                dropped,
                simulation.fabric().port(receiverPort()).queueBytesMax());
    }

    private static double reachedMs(List<Sample> samples, double fair) {
        for (int at = WINDOW; at <= samples.size(); at++) {
            List<Sample> window = samples.subList(at - WINDOW, at);
            boolean near = true;
            for (int sender = 0; sender < SENDERS; sender++) {
                near &= Math.abs(mean(window, sender) / fair - 1) <= NEAR;
            }
            if (near) {
                return window.getLast().ms();
            }
        }
        return Double.NaN;
    }

    private static double mean(List<Sample> samples, int sender) {
        return samples.stream()
                .mapToDouble(s -> sender == 0 ? s.firstGbps() : s.secondGbps())
                .average()
                .orElse(Double.NaN);
    }

    /** Of the switch: each link of a host has the port up before the port down. */
    private static int receiverPort() {
        return 2 * SENDERS + 1;
    }
}
