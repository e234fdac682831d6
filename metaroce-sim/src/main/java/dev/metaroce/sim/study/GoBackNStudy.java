package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.rocev2.GoBackN;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Rng;

import java.util.function.BooleanSupplier;

/**
 * What random loss costs Go-Back-N of RoCEv2, beside the two laws for it. A host sends to another
 * with a window of N packets; data get lost, answers do not.
 */
public final class GoBackNStudy {
    private static final int MTU = 4096;

    /** A full packet on the wire: BTH, ICRC, UDP, IPv4 and Ethernet. */
    private static final long PACKET_BITS = (MTU + 16 + 66) * 8;

    private static final long ANSWER_BITS = (20 + 66) * 8;
    private static final double PS_PER_SECOND = 1e12;
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /** What of the window is on the way when a NAK for its first packet comes back. */
    public enum Way {
        /** All N packets. */
        WHOLE_WINDOW,
        /** N / 2 packets: the way is half as long, and the window never stops the sender. */
        HALF_WINDOW
    }

    /** When the requester gives up waiting. */
    public enum Timer {
        /** After 8.4 ms at 100 Gb/s: long against a window, as time-outs of RoCEv2 are. */
        LONG(11),
        /**
         * As soon as it does no harm, a few packets after a round trip. Time-outs are powers of
         * two, so the line is as fast as makes this so.
         */
        SHORT(4);

        /** From the last progress to a NAK, and for one that comes as late as it may. */
        private static final int SPARE_PACKETS = 4;

        private static final double LONG_TIMER_RATE = 100e9;

        private final int exponent;

        Timer(int exponent) {
            this.exponent = exponent;
        }

        private double seconds() {
            return 4.096e-6 * (1L << exponent);
        }

        private long rate(int wayPackets) {
            return this == LONG
                    ? (long) LONG_TIMER_RATE
                    : (long) ((wayPackets + SPARE_PACKETS) * PACKET_BITS / seconds());
        }
    }

    /**
     * What is measured.
     *
     * @param packets N, from 12 up
     * @param loss per data packet
     * @param needed packets to deliver
     */
    public record Setup(
            long seed,
            GoBackN trigger,
            Way way,
            Timer timer,
            int packets,
            double loss,
            long needed) {
        /** The same with other chance. */
        public Setup withSeed(long other) {
            return new Setup(other, trigger, way, timer, packets, loss, needed);
        }

        private Setup withoutLoss() {
            return new Setup(seed, trigger, way, timer, packets, 0, needed);
        }

        /** The published law for this way. */
        public double law() {
            return switch (way) {
                case WHOLE_WINDOW -> (1 - loss) / (1 - loss + loss * packets);
                case HALF_WINDOW -> 1 / (1 + loss * packets / 2);
            };
        }

        /**
         * What each law means, for what is on the way: each packet gets lost p / (1 - p) times. The
         * first time a NAK tells; with the naive trigger all others are found by the timer.
         */
        public double exactLaw() {
            double each =
                    trigger == GoBackN.NAIVE
                            ? (1 - loss) * wayPackets() + loss * timeoutPackets()
                            : wayPackets();
            return (1 - loss) / (1 - loss + loss * each);
        }

        /** The time-out in packets. */
        private double timeoutPackets() {
            return timer.seconds() * rate() / PACKET_BITS;
        }

        private int wayPackets() {
            return way == Way.WHOLE_WINDOW ? packets : packets / 2;
        }

        private long rate() {
            return timer.rate(wayPackets());
        }

        private Topology topology() {
            // Two packets' time to store and forward, one until the packet behind a lost one makes
            // the NAK, and two waiting at the host, which makes four at a time.
            long onLinks = (wayPackets() - 5) * PACKET_BITS - 2 * ANSWER_BITS;
            long delayPs = (long) (onLinks * PS_PER_SECOND / rate() / 4);
            Topology.Builder builder = Topology.builder("chain", 2, 1);
            int middle = builder.addSwitch("middle", 1, 0);
            builder.addLink(0, middle, rate(), delayPs, 0);
            builder.addLink(middle, 1, rate(), delayPs, 0);
            return builder.build();
        }
    }

    /**
     * What came of it.
     *
     * @param efficiency goodput, as part of that without loss
     * @param lost data packets
     * @param timeouts that expired
     */
    public record Outcome(
            Setup setup, double efficiency, long lost, long timeouts, boolean ended, int failed) {}

    private final Setup setup;
    private final Simulation simulation;

    private GoBackNStudy(Setup setup) {
        this.setup = setup;
        simulation =
                new Simulation(
                        new SimConfig(
                                        setup.seed(),
                                        SimConfig.limits(0),
                                        FabricConfig.defaults(),
                                        NicModel.NONE,
                                        Connections.WARM)
                                .with(
                                        SimConfig.roce(setup.rate()).toBuilder()
                                                .trigger(setup.trigger())
                                                .ackTimeout(setup.timer().exponent)
                                                .packetsPerAck(1)
                                                .windowPackets(setup.packets())
                                                .build()),
                        setup.topology());
        simulation
                .fabric()
                .fault(
                        0,
                        LinkFaults.Rates.ofLoss(setup.loss()),
                        new Rng(setup.seed()).fork("loss"));
    }

    /**
     * Runs with and without loss.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        GoBackNStudy lossless = new GoBackNStudy(setup.withoutLoss());
        GoBackNStudy lossy = new GoBackNStudy(setup);
        boolean ended = lossless.send(mayGoOn) && lossy.send(mayGoOn);
        Simulation s = lossy.simulation;
        return new Outcome(
                setup,
                (double) lossless.simulation.flows().endPs(0) / s.flows().endPs(0),
                s.fabric().port(0).lost(),
                s.engine(0).counters().get(CounterId.RTO_FIRED),
                ended,
                s.flows().failed());
    }

    /** True when all was delivered, and no end was asked for. */
    private boolean send(BooleanSupplier mayGoOn) {
        simulation.addFlow(0, 1, setup.needed() * MTU, 0);
        // Does not count; without it the loss of the very last packets would show to nobody.
        simulation.addFlow(0, 1, (long) setup.packets() * MTU, 0);
        Simulation.Stop stop = Simulation.Stop.EVENTS_DONE;
        while (stop == Simulation.Stop.EVENTS_DONE && mayGoOn.getAsBoolean()) {
            stop = simulation.advance(EVENTS_PER_LOOK);
        }
        return stop == Simulation.Stop.ALL_ENDED;
    }
}
