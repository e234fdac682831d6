package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.JainIndex;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;

import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * Senders that are busy from time 0 on, all with the same backlog for one receiver around one
 * switch, which has fewer contexts than there are senders. Connections are made by the first
 * message.
 */
public final class BusySenders {
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /** Links from a sender to the receiver and back. */
    private static final int LINKS_THERE_AND_BACK = 4;

    /** Who waited for more ideal waves than this has starved. */
    private static final int STARVED_WAVES = 10;

    private static final long NOT_WAITING = -1;

    /**
     * What is measured.
     *
     * @param senders that are busy, from 1 up
     * @param slots receive contexts of the receiver, 1..256
     * @param rateBitsPerSecond of every link
     * @param roundTripPs of the links alone, there and back
     * @param quotaBytes after which a lease is asked back while others wait
     * @param quotaTimeNs the same as time
     * @param backlogBytes that each sender has to send
     * @param messageBytes of each WRITE; the last one of a sender may be shorter
     */
    public record Setup(
            long seed,
            int senders,
            int slots,
            long rateBitsPerSecond,
            long roundTripPs,
            long quotaBytes,
            long quotaTimeNs,
            long backlogBytes,
            long messageBytes,
            ExhaustionPolicy policy) {

        /** As many senders as contexts with as many bytes in all: nobody ever waits. */
        Setup withoutWaiting() {
            int few = Math.min(senders, slots);
            long each = Math.ceilDiv(backlogBytes * senders, few);
            return new Setup(
                    seed,
                    few,
                    slots,
                    rateBitsPerSecond,
                    roundTripPs,
                    quotaBytes,
                    quotaTimeNs,
                    each,
                    messageBytes,
                    policy);
        }

        /** How long the line takes, at its whole rate, for a quota of each sender that waits. */
        public double idealWaitUs() {
            return Math.max(0, senders - slots) * quotaBytes * 8e6 / rateBitsPerSecond;
        }
    }

    /**
     * What came of it.
     *
     * @param goodputGbps payload, from time 0 to the last completion
     * @param share of the reference
     * @param meanWaitUs for a context, from the first request of it to the grant
     * @param longestWaitUs the longest such wait
     * @param waves the longest wait in terms of {@link Setup#idealWaitUs}
     * @param jainIndex of the times at which senders were done
     * @param handOvers grants of a context that another sender had before
     * @param reclaims leases that were asked back
     * @param queued requests that were put into the line
     * @param denied requests that were refused
     * @param starved senders that failed, or waited longer than ten ideal waves
     * @param failed of these
     */
    public record Outcome(
            Setup setup,
            double goodputGbps,
            double share,
            double meanWaitUs,
            double longestWaitUs,
            double waves,
            double jainIndex,
            long handOvers,
            long reclaims,
            long queued,
            long denied,
            int starved,
            int failed) {}

    private final Setup setup;
    private final Simulation simulation;
    private final long[] askedNs;
    private final long[] longestWaitNs;
    private double waitsNs;
    private long waits;

    private BusySenders(Setup setup) {
        this.setup = setup;
        askedNs = new long[setup.senders()];
        longestWaitNs = new long[setup.senders()];
        Arrays.fill(askedNs, NOT_WAITING);
        DeviceLimits limits =
                SimConfig.limits(setup.rateBitsPerSecond()).toBuilder()
                        .contexts(setup.slots())
                        .policy(setup.policy())
                        .quotaBytes(setup.quotaBytes())
                        .quotaTimeNs(setup.quotaTimeNs())
                        .maxWaiters(Math.max(1024, setup.senders()))
                        .maxConnections(Math.max(4096, setup.senders()))
                        .build();
        Topology topology =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.STAR)
                                .hosts(setup.senders() + 1)
                                .hostRate(setup.rateBitsPerSecond())
                                .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                                .build());
        simulation =
                new Simulation(
                        new SimConfig(setup.seed(), limits, FabricConfig.defaults()),
                        topology,
                        new Application() {
                            @Override
                            public EventSink events(int host) {
                                return (nowNs, id, a, b, c) -> note(host, nowNs, id);
                            }
                        });
    }

    /**
     * What as many senders as contexts reach with as many bytes in all, whatever the policy.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static double referenceGbps(Setup setup, BooleanSupplier mayGoOn) {
        return new BusySenders(setup.withoutWaiting()).measure(mayGoOn, Double.NaN).goodputGbps();
    }

    /**
     * Runs the senders.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     * @param referenceGbps goodput to compare with
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn, double referenceGbps) {
        return new BusySenders(setup).measure(mayGoOn, referenceGbps);
    }

    private void note(int host, long nowNs, EventId id) {
        if (host == setup.senders()) {
            return;
        }
        if (id == EventId.LEASE_REQUESTED && askedNs[host] == NOT_WAITING) {
            askedNs[host] = nowNs;
        } else if (id == EventId.LEASE_OPENED) {
            long waitNs = nowNs - askedNs[host];
            longestWaitNs[host] = Math.max(longestWaitNs[host], waitNs);
            waitsNs += waitNs;
            waits++;
            askedNs[host] = NOT_WAITING;
        }
    }

    private Outcome measure(BooleanSupplier mayGoOn, double referenceGbps) {
        int receiver = setup.senders();
        for (int sender = 0; sender < setup.senders(); sender++) {
            for (long at = 0; at < setup.backlogBytes(); at += setup.messageBytes()) {
                long bytes = Math.min(setup.messageBytes(), setup.backlogBytes() - at);
                simulation.addFlow(sender, receiver, bytes, 0);
            }
        }
        while (mayGoOn.getAsBoolean()
                && simulation.advance(EVENTS_PER_LOOK) == Simulation.Stop.EVENTS_DONE) {}
        return outcome(receiver, referenceGbps);
    }

    private Outcome outcome(int receiver, double referenceGbps) {
        Flows flows = simulation.flows();
        double[] doneUs = new double[setup.senders()];
        boolean[] hasFailed = new boolean[setup.senders()];
        long bytes = 0;
        long lastPs = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            int sender = flows.source(flow);
            boolean well = !flows.isOpen(flow) && flows.failure(flow).isEmpty();
            hasFailed[sender] |= !well;
            if (well) {
                bytes += flows.bytes(flow);
                lastPs = Math.max(lastPs, flows.endPs(flow));
                doneUs[sender] = Math.max(doneUs[sender], flows.endPs(flow) / 1e6);
            }
        }
        double idealUs = setup.idealWaitUs();
        int starved = 0;
        int failed = 0;
        for (int sender = 0; sender < setup.senders(); sender++) {
            failed += hasFailed[sender] ? 1 : 0;
            boolean tooLong = longestWaitNs[sender] > STARVED_WAVES * idealUs * 1e3;
            starved += hasFailed[sender] || (idealUs > 0 && tooLong) ? 1 : 0;
        }
        double gbps = Summary.gbps(bytes, lastPs);
        double longestUs = Arrays.stream(longestWaitNs).max().orElse(0) / 1e3;
        long grants = count(receiver, CounterId.GRANTS);
        return new Outcome(
                setup,
                gbps,
                gbps / referenceGbps,
                waitsNs / waits / 1e3,
                longestUs,
                longestUs / idealUs,
                JainIndex.of(doneUs),
                grants - Math.min(setup.senders(), setup.slots()),
                count(receiver, CounterId.RECLAIMS),
                count(receiver, CounterId.QUEUED),
                count(receiver, CounterId.DENIED),
                starved,
                failed);
    }

    private long count(int host, CounterId id) {
        return simulation.engine(host).counters().get(id);
    }
}
