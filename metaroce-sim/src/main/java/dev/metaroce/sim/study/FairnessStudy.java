package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.Port;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.JainIndex;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.GrantFields;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Endless flows to one receiver around one switch in surroundings that are not even or not polite:
 * senders that ignore hints, a receiver that tells absurd ones, hosts with links of other speeds
 * and at other distances. What each flow gets is set against its max-min fair part of what the
 * receiver's line carries.
 */
public final class FairnessStudy {
    private static final long EVENTS_PER_LOOK = 1 << 16;
    private static final long ENDLESS = 1L << 31;
    private static final long PS_PER_SECOND = 1_000_000_000_000L;
    private static final long MEGABIT = 1_000_000L;

    private static final int LINKS_THERE_AND_BACK = 4;
    private static final long MS = 1_000_000_000;

    /** How much farther a far sender is than a near one. */
    private static final int FAR = 100;

    /** The largest hint. */
    private static final int RATE_MAX = AckHeader.RATE_NONE - 1;

    private static final int HINT_BITS = 24;

    /** What a full packet has on the wire beside its payload. */
    private static final int OVERHEAD_BYTES = 118;

    /** What senders hear instead of the receiver's hints. */
    public enum Told {
        /** What the receiver says. */
        TRUTH,
        /** Nothing: no hints are given. */
        NOTHING,
        /** 0, for ever. */
        ZERO,
        /** 1 Mb/s, for ever. */
        ONE_MEGABIT,
        /** A hundred times the line rate. */
        FAR_ABOVE,
        /** With every answer anything between 1 Mb/s and 16 Tb/s, each magnitude as likely. */
        CHANGING,
        /** 0 in the first half of the time to settle, then the truth. */
        ZERO_AT_FIRST;

        /** Then the senders have a flow to a truthful receiver each, too. */
        boolean isLie() {
            return this != TRUTH && this != NOTHING;
        }
    }

    /**
     * One that sends.
     *
     * @param rateBitsPerSecond of its link
     * @param roundTripPs of the links between it and the receiver alone
     * @param obeys false: it does as if it got no hints
     */
    public record Sender(long rateBitsPerSecond, long roundTripPs, boolean obeys) {}

    /**
     * What is measured.
     *
     * @param name of the surroundings
     * @param receiverRate of the receiver's link, in bits per second; what it knows it can receive
     * @param told to all senders
     * @param settlePs from the start until measuring begins
     * @param spanPs how long is measured
     */
    public record Setup(
            long seed,
            String name,
            List<Sender> senders,
            long receiverRate,
            Told told,
            long settlePs,
            long spanPs) {
        /**
         * All surroundings that are looked at.
         *
         * @param rate of most links, in bits per second; others have a quarter and a sixteenth
         * @param roundTripPs of most senders; others are a hundred times as far away
         */
        public static List<Setup> all(long seed, long rate, long roundTripPs) {
            Sender near = new Sender(rate, roundTripPs, true);
            Sender far = new Sender(rate, FAR * roundTripPs, true);
            Sender rude = new Sender(rate, roundTripPs, false);
            Sender slower = new Sender(rate / 4, roundTripPs, true);
            Sender slowest = new Sender(rate / 16, roundTripPs, true);
            List<Sender> even = List.of(near, near, near, near, near, near, near, near);
            List<Sender> oneRude = List.of(rude, near, near, near, near, near, near, near);
            List<Sender> distances = List.of(near, near, near, near, far, far, far, far);
            List<Sender> speeds =
                    List.of(slowest, slowest, slowest, slower, slower, slower, near, near);
            List<Setup> all = new ArrayList<>();
            Setup plain = new Setup(seed, "even", even, rate, Told.TRUTH, 5 * MS, 5 * MS);
            all.add(plain);
            all.add(plain.with(Told.NOTHING));
            all.add(new Setup(seed, "rude sender", oneRude, rate, Told.TRUTH, 5 * MS, 5 * MS));
            for (Told told : Told.values()) {
                if (told.isLie()) {
                    long settle = told == Told.ZERO_AT_FIRST ? 100 * MS : 5 * MS;
                    all.add(new Setup(seed, "receiver", even, rate, told, settle, 5 * MS));
                }
            }
            Setup mix =
                    new Setup(seed, "near and far", distances, rate, Told.TRUTH, 40 * MS, 20 * MS);
            all.add(mix);
            all.add(mix.with(Told.NOTHING));
            for (int part : new int[] {1, 4, 16}) {
                String name = "speeds to 1/" + part;
                Setup mixed =
                        new Setup(seed, name, speeds, rate / part, Told.TRUTH, 5 * MS, 5 * MS);
                all.add(mixed);
                all.add(mixed.with(Told.NOTHING));
            }
            return all;
        }

        /** The same with another word from the receiver. */
        private Setup with(Told other) {
            return new Setup(seed, name, senders, receiverRate, other, settlePs, spanPs);
        }

        /** What the receiver's line carries of payload, in bits per second. */
        double payloadRate() {
            return receiverRate * payloadPart();
        }

        private static double payloadPart() {
            double mtu = SimConfig.limits(0).payloadMtu();
            return mtu / (mtu + OVERHEAD_BYTES);
        }

        /** The max-min fair parts of that, in bits per second of payload. */
        double[] fairParts() {
            int count = senders.size();
            double[] fair = new double[count];
            double left = payloadRate();
            List<Integer> slowest = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                slowest.add(i);
            }
            slowest.sort((a, b) -> Long.compare(rate(a), rate(b)));
            for (int i = 0; i < count; i++) {
                int sender = slowest.get(i);
                fair[sender] = Math.min(rate(sender) * payloadPart(), left / (count - i));
                left -= fair[sender];
            }
            return fair;
        }

        private long rate(int sender) {
            return senders.get(sender).rateBitsPerSecond();
        }
    }

    /**
     * What came of it.
     *
     * @param use of the receiver's line, or of all senders' lines when they are slower together
     * @param besideUse of the line of a truthful receiver, to which the same senders send when this
     *     one lies; else NaN
     * @param shares payload of each sender, 1 is its fair part
     * @param jainIndex of these
     * @param queueBytesMean of the port to the receiver
     * @param queueBytesMax of it since the start
     * @param lost packets, since the start
     */
    public record Outcome(
            Setup setup,
            double use,
            double besideUse,
            List<Double> shares,
            double jainIndex,
            long queueBytesMean,
            long queueBytesMax,
            long lost) {
        /** The share of who got least. */
        public double least() {
            return Collections.min(shares);
        }

        /** The share of who got most. */
        public double most() {
            return Collections.max(shares);
        }
    }

    private final Setup setup;
    private final int receiver;
    private final int neighbour;
    private final Simulation simulation;
    private final Rng chance;

    private FairnessStudy(Setup setup) {
        this.setup = setup;
        receiver = setup.senders().size();
        neighbour = receiver + 1;
        chance = new Rng(setup.seed()).fork("hints");
        Topology.Builder star = Topology.builder("star", receiver + 2, 1);
        int hub = star.addSwitch("hub", 1, 0);
        long nearPs = setup.senders().stream().mapToLong(Sender::roundTripPs).min().orElseThrow();
        long receiverDelayPs = nearPs / LINKS_THERE_AND_BACK;
        for (int i = 0; i < receiver; i++) {
            Sender sender = setup.senders().get(i);
            long delayPs = sender.roundTripPs() / 2 - receiverDelayPs;
            star.addLink(i, hub, sender.rateBitsPerSecond(), delayPs, 0);
        }
        star.addLink(receiver, hub, setup.receiverRate(), receiverDelayPs, 0);
        star.addLink(neighbour, hub, setup.receiverRate(), receiverDelayPs, 0);
        SimConfig config =
                new SimConfig(setup.seed(), SimConfig.limits(0), FabricConfig.defaults());
        simulation =
                new Simulation(
                        config,
                        star.build(),
                        new Application() {
                            @Override
                            public DeviceLimits limits(int host, DeviceLimits common) {
                                return limitsOf(host);
                            }

                            @Override
                            public boolean onArrival(int host, int packet) {
                                forge(host, packet);
                                return true;
                            }
                        });
        for (int i = 0; i < receiver; i++) {
            simulation.addFlow(i, receiver, ENDLESS, 0);
            if (setup.told().isLie()) {
                simulation.addFlow(i, neighbour, ENDLESS, 0);
            }
        }
    }

    private DeviceLimits limitsOf(int host) {
        boolean hints = host < receiver || setup.told() != Told.NOTHING;
        long rate = host < receiver ? setup.rate(host) : setup.receiverRate();
        return SimConfig.limits(hints ? rate : 0);
    }

    /** Puts what is told in place of the receiver's hint. */
    private void forge(int host, int packet) {
        Fabric fabric = simulation.fabric();
        if (host >= receiver || fabric.source(packet) != receiver) {
            return;
        }
        boolean obeys = setup.senders().get(host).obeys();
        if (obeys && !isLying()) {
            return;
        }
        PacketMemory m = fabric.memory(packet);
        int at = fabric.offset(packet);
        int type = CommonHeader.type(m, at);
        int mbps = obeys ? told() : AckHeader.RATE_NONE;
        if (type == PacketType.ACK.code()) {
            AckHeader.putHint(m, at, mbps, AckHeader.hintSeq(m, at));
        } else if (type == PacketType.CTRL.code()
                && CommonHeader.opcode(m, at) == ControlOpcode.GRANT.code()) {
            // Whatever follows is newer.
            GrantFields.putHint(m, at, mbps, 0);
        } else {
            return;
        }
        int bytes = fabric.datagramBytes(packet);
        CommonHeader.seal(m, at, bytes - CommonHeader.TRAILER_BYTES);
    }

    private boolean isLying() {
        boolean always = setup.told() != Told.ZERO_AT_FIRST;
        return setup.told().isLie() && (always || simulation.nowPs() < setup.settlePs() / 2);
    }

    private int told() {
        return switch (setup.told()) {
            case ZERO, ZERO_AT_FIRST -> AckHeader.RATE_PAUSE;
            case ONE_MEGABIT -> 1;
            case FAR_ABOVE -> (int) Math.min(100 * setup.receiverRate() / MEGABIT, RATE_MAX);
            case CHANGING -> Math.min(1 << chance.nextInt(HINT_BITS + 1), RATE_MAX);
            case TRUTH, NOTHING -> AckHeader.RATE_NONE;
        };
    }

    /**
     * Runs the flows.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new FairnessStudy(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        runUntil(setup.settlePs(), mayGoOn);
        Port line = simulation.fabric().port(2 * receiver + 1);
        long[] before = new long[receiver];
        for (int i = 0; i < receiver; i++) {
            before[i] = receivedBytes(i);
        }
        long besideBefore = count(neighbour, CounterId.PAYLOAD_BYTES);
        double queueSum = 0;
        long samples = 0;
        long endPs = setup.settlePs() + setup.spanPs();
        while (simulation.nextEventPs() <= endPs
                && (samples % EVENTS_PER_LOOK != 0 || mayGoOn.getAsBoolean())) {
            simulation.run(1);
            queueSum += line.queueBytes();
            samples++;
        }
        double[] fair = setup.fairParts();
        double[] shares = new double[receiver];
        double all = 0;
        for (int i = 0; i < receiver; i++) {
            double rate = bitRate(receivedBytes(i) - before[i]);
            all += rate;
            shares[i] = rate / fair[i];
        }
        double beside = bitRate(count(neighbour, CounterId.PAYLOAD_BYTES) - besideBefore);
        boolean lies = setup.told().isLie();
        return new Outcome(
                setup,
                all / Arrays.stream(fair).sum(),
                lies ? beside / setup.payloadRate() : Double.NaN,
                Arrays.stream(shares).boxed().toList(),
                all == 0 ? 1 : JainIndex.of(shares),
                (long) (queueSum / samples),
                line.queueBytesMax(),
                simulation.fabric().lostPackets());
    }

    /** What the receiver has of a sender's flow; its sender knows of it a round trip later. */
    private long receivedBytes(int sender) {
        int flow = setup.told().isLie() ? 2 * sender : sender;
        return ENDLESS - simulation.missingBytes(flow);
    }

    private double bitRate(long bytes) {
        return bytes * 8.0 * PS_PER_SECOND / setup.spanPs();
    }

    private void runUntil(long atPs, BooleanSupplier mayGoOn) {
        long events = 0;
        while (simulation.nextEventPs() <= atPs
                && (events++ % EVENTS_PER_LOOK != 0 || mayGoOn.getAsBoolean())) {
            simulation.run(1);
        }
    }

    private long count(int host, CounterId id) {
        return simulation.engine(host).counters().get(id);
    }
}
