package dev.metaroce.sim.study;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.transport.SendingState;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Senders around one switch that come one after the other to the same receiver, each with a message
 * of the same size, and leave in that order: how rates, windows and the queue follow.
 */
public final class Newcomers {
    private static final int LINKS_THERE_AND_BACK = 4;
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /**
     * What is measured.
     *
     * @param senders from 1 up
     * @param bytes that each of them sends
     * @param gapPs from one start to the next
     * @param rateBitsPerSecond of every link
     * @param roundTripPs of the links alone, there and back
     * @param hints receivers say how fast they may be sent to
     */
    public record Setup(
            long seed,
            int senders,
            long bytes,
            long gapPs,
            long rateBitsPerSecond,
            long roundTripPs,
            boolean hints,
            Mechanisms mechanisms) {}

    /**
     * What is seen at the end of a round trip.
     *
     * @param gbps payload of each sender that was acknowledged in this round trip
     * @param windowBytes of the first sender, all paths together; NaN when it is done
     * @param queueBytes of the port to the receiver
     */
    public record Sample(double us, List<Double> gbps, double windowBytes, long queueBytes) {}

    /**
     * What came of it.
     *
     * @param samples one for each round trip until the last sender was done
     * @param lastUs when that was
     * @param queueBytesMax the longest queue of the port to the receiver
     * @param failed senders
     */
    public record Outcome(
            Setup setup, List<Sample> samples, double lastUs, long queueBytesMax, int failed) {}

    private final Setup setup;
    private final Simulation simulation;
    private final long[] missing;

    private Newcomers(Setup setup) {
        this.setup = setup;
        DeviceLimits limits =
                SimConfig.limits(setup.hints() ? setup.rateBitsPerSecond() : 0).toBuilder()
                        .mechanisms(setup.mechanisms())
                        .build();
        simulation =
                new Simulation(
                        new SimConfig(setup.seed(), limits, FabricConfig.defaults()),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.STAR)
                                        .hosts(setup.senders() + 1)
                                        .hostRate(setup.rateBitsPerSecond())
                                        .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                                        .build()));
        missing = new long[setup.senders()];
        for (int sender = 0; sender < setup.senders(); sender++) {
            simulation.addFlow(sender, setup.senders(), setup.bytes(), sender * setup.gapPs());
            missing[sender] = setup.bytes();
        }
    }

    /**
     * Runs the senders.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new Newcomers(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        List<Sample> samples = new ArrayList<>();
        Flows flows = simulation.flows();
        while (flows.ended() < setup.senders() && mayGoOn.getAsBoolean()) {
            long atPs = (samples.size() + 1) * setup.roundTripPs();
            simulation.pauseAt(atPs);
            while (simulation.advance(EVENTS_PER_LOOK) == Simulation.Stop.EVENTS_DONE) {}
            samples.add(sample(atPs / 1e6));
        }
        long lastPs = 0;
        for (int sender = 0; sender < setup.senders(); sender++) {
            lastPs = flows.isOpen(sender) ? lastPs : Math.max(lastPs, flows.endPs(sender));
        }
        long queue = simulation.fabric().port(receiverPort()).queueBytesMax();
        return new Outcome(setup, List.copyOf(samples), lastPs / 1e6, queue, flows.failed());
    }

    private Sample sample(double us) {
        List<Double> gbps = new ArrayList<>();
        for (int sender = 0; sender < setup.senders(); sender++) {
            long now =
                    simulation.flows().startPs(sender) > simulation.nowPs()
                            ? missing[sender]
                            : simulation.missingBytes(sender);
            gbps.add(Summary.gbps(missing[sender] - now, setup.roundTripPs()));
            missing[sender] = now;
        }
        SendingState first = missing[0] == 0 ? null : simulation.sending(0);
        return new Sample(
                us,
                List.copyOf(gbps),
                first == null ? Double.NaN : first.windowBytes(),
                simulation.fabric().port(receiverPort()).queueBytes());
    }

    /** Of the switch: each link of a host has the port up before the port down. */
    private int receiverPort() {
        return 2 * setup.senders() + 1;
    }
}
