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
 * over a way as long as N packets; data get lost, answers do not.
 */
public final class GoBackNStudy {
    private static final int MTU = 4096;
    private static final long RATE = 100_000_000_000L;

    /** A full packet on the wire: BTH, ICRC, UDP, IPv4 and Ethernet. */
    private static final long PACKET_PS = (MTU + 16 + 66) * 80;

    private static final long ANSWER_PS = (20 + 66) * 80;
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /** What is on the way. */
    public enum Traffic {
        /** A window of N packets, which is what the way holds. */
        STREAM,

        /**
         * A message of N packets at a time: half of the time the way is empty, so that a gap costs
         * half of what it costs a stream.
         */
        MESSAGES
    }

    /**
     * What is measured.
     *
     * @param packets N, from 4 up
     * @param loss per data packet
     * @param ackTimeout exponent: 4.096 us * 2^n
     * @param needed packets to deliver
     */
    public record Setup(
            long seed,
            GoBackN trigger,
            Traffic traffic,
            int packets,
            double loss,
            int ackTimeout,
            long needed) {
        /** The same with other chance. */
        public Setup withSeed(long other) {
            return new Setup(other, trigger, traffic, packets, loss, ackTimeout, needed);
        }

        private Setup withoutLoss() {
            return new Setup(seed, trigger, traffic, packets, 0, ackTimeout, needed);
        }

        /** Everything behind the lost packet is thrown away, a whole window. */
        public double wholeWindowLaw() {
            return (1 - loss) / (1 - loss + loss * packets);
        }

        /** Half of a window is. */
        public double halfWindowLaw() {
            return 1 / (1 + loss * packets / 2);
        }

        /** The same with what it leaves out: packets sent again get lost, too. */
        public double halfWindowLawWithRepeats() {
            return (1 - loss) / (1 - loss + loss * packets / 2);
        }

        /**
         * The first law with what it leaves out: without another NAK, a packet that is lost when it
         * is sent again is missed by the timer alone.
         */
        public double lawWithTimeouts() {
            double again = trigger == GoBackN.NAIVE ? loss * timeoutPackets() / (1 - loss) : 0;
            return (1 - loss) / (1 - loss + loss * (packets + again));
        }

        /**
         * The shortest time-out that does no harm. With the naive trigger that is a round trip and
         * a half; with the other nothing may be acknowledged for some round trips while packets are
         * sent again, and a timer that goes off then does so once more.
         */
        public static int shortTimeout(GoBackN trigger, int packets) {
            double roundTrips = trigger == GoBackN.NAIVE ? 1.5 : 2.5;
            int exponent = 1;
            while (4_096_000L << exponent < packets * PACKET_PS * roundTrips) {
                exponent++;
            }
            return exponent;
        }

        /** The time-out in packets. */
        public double timeoutPackets() {
            return 4_096_000.0 * (1L << ackTimeout) / PACKET_PS;
        }

        private Topology topology() {
            // Both ways of two links, a packet stored and forwarded, an answer.
            long onLinks = packets * PACKET_PS - 2 * PACKET_PS - 2 * ANSWER_PS;
            Topology.Builder builder = Topology.builder("chain", 2, 1);
            int middle = builder.addSwitch("middle", 1, 0);
            builder.addLink(0, middle, RATE, onLinks / 4, 0);
            builder.addLink(middle, 1, RATE, onLinks / 4, 0);
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
                                        SimConfig.roce(RATE).toBuilder()
                                                .trigger(setup.trigger())
                                                .ackTimeout(setup.ackTimeout())
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
        lossless.send(mayGoOn);
        GoBackNStudy lossy = new GoBackNStudy(setup);
        boolean ended = lossy.send(mayGoOn);
        Simulation s = lossy.simulation;
        return new Outcome(
                setup,
                (double) lossless.simulation.nowPs() / s.nowPs(),
                s.fabric().port(0).lost(),
                s.engine(0).counters().get(CounterId.RTO_FIRED),
                ended,
                s.flows().failed());
    }

    private boolean send(BooleanSupplier mayGoOn) {
        if (setup.traffic() == Traffic.STREAM) {
            simulation.addFlow(0, 1, setup.needed() * MTU, 0);
            return toEnd(mayGoOn);
        }
        boolean ended = true;
        for (long sent = 0; sent < setup.needed() && ended; sent += setup.packets()) {
            simulation.addFlow(0, 1, (long) setup.packets() * MTU, simulation.nowPs());
            ended = toEnd(mayGoOn);
        }
        return ended;
    }

    private boolean toEnd(BooleanSupplier mayGoOn) {
        Simulation.Stop stop = Simulation.Stop.EVENTS_DONE;
        while (stop == Simulation.Stop.EVENTS_DONE && mayGoOn.getAsBoolean()) {
            stop = simulation.advance(EVENTS_PER_LOOK);
        }
        return stop == Simulation.Stop.ALL_ENDED;
    }
}
