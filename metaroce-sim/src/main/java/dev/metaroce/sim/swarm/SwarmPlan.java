package dev.metaroce.sim.swarm;

import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Profile;

import java.util.ArrayList;
import java.util.List;

/**
 * What one swarm run is made of: everything follows from the seed. Most seeds leave most faults
 * out, so that each fault also meets quiet networks and other faults in pairs.
 */
final class SwarmPlan {
    private static final long US = 1_000;
    private static final long MS = 1_000_000;
    private static final long PS_PER_NS = 1_000;
    private static final long PATIENT_NS = 20_000 * MS;
    private static final ExhaustionPolicy[] POLICIES = {
        ExhaustionPolicy.QUEUE,
        ExhaustionPolicy.QUEUE,
        ExhaustionPolicy.PREEMPT,
        ExhaustionPolicy.DENY
    };
    private static final int MAX_STREAMS = 200;
    private static final long MEMORY_BYTES = 4 << 20;

    /** What dies at a host, or goes down at a link, and when it is back; times from the start. */
    record Outage(int target, long fromPs, long toPs) {}

    /** Two hosts that talk. */
    record Talk(int dialer, int acceptor, long startPs) {}

    static final long NEVER = Long.MAX_VALUE;

    final long seed;
    final SwarmNetwork network;
    private final Profile profile;
    final int mtu;

    // Work
    final List<Talk> talks = new ArrayList<>();
    final String pattern;
    final int rounds;
    final int streams;
    final int messages;
    final int depth;
    final int slots;
    final int slotBytes;
    final long maxLength;
    final boolean bothWays;
    final boolean lateReceives;
    final boolean closes;
    final boolean rude;
    final boolean eager;
    final double poisoned;
    final double pulling;
    final int rnrTimerUs;
    final boolean retriesForEver;
    final long thinkPs;

    // Faults
    final long healPs;
    final double loss;
    final double lossInBursts;
    final double corruption;
    final double faultyPorts;
    final double duplicates;
    final double reordered;
    final long reorderPs;
    final int deadEndLink;
    final List<Outage> flaps = new ArrayList<>();
    final List<Outage> kills = new ArrayList<>();
    final int lonelyHost;

    // Devices
    final boolean smallPools;
    final ExhaustionPolicy policy;
    private final boolean tinyQuotas;
    final long busyPs;
    final long packetLifetimeNs;
    private final Rng limits;

    SwarmPlan(long seed) {
        this.seed = seed;
        Rng root = new Rng(seed).fork("plan");
        Rng rng = root.fork("devices");
        profile = rng.chance(0.3) ? Profile.S : Profile.M;
        mtu = (int) pick(rng, 256, 512, 1024, 1408, 4096, 4096, 8896);
        smallPools = rng.chance(0.6);
        policy = POLICIES[rng.nextInt(POLICIES.length)];
        busyPs = rng.chance(0.7) ? 0 : PS_PER_NS * pick(rng, US, 20 * US);
        tinyQuotas = root.fork("quotas").chance(0.3);
        limits = root.fork("limits");
        network = new SwarmNetwork(root.fork("network"), mtu);
        Rng faults = root.fork("faults");
        healPs = PS_PER_NS * (long) (200 * US * Math.pow(5_000, faults.nextDouble()));
        reordered = faults.chance(0.7) ? 0 : choose(faults, 0.01, 0.1, 0.5);
        reorderPs = PS_PER_NS * pick(faults, 2 * US, 50 * US, MS);
        duplicates = faults.chance(0.7) ? 0 : choose(faults, 0.01, 0.1, 0.5);
        long heldPs = busyPs + (reordered + duplicates > 0 ? reorderPs : 0);
        long wayPs = network.longestWayPs() + heldPs;
        packetLifetimeNs = Math.max(MS / 5, wayPs / PS_PER_NS * 5 / 4) * pick(rng, 1, 1, 10);
        loss = faults.chance(0.6) ? 0 : choose(faults, 0.0001, 0.001, 0.01, 0.03);
        lossInBursts = faults.chance(0.8) ? 0 : choose(faults, 0.3, 0.9);
        corruption = faults.chance(0.8) ? 0 : choose(faults, 0.001, 0.01);
        faultyPorts = choose(faults, 0.1, 0.5, 1);
        int hosts = network.topology.hosts();
        int links = network.topology.links();
        boolean deadEnd = faults.chance(0.15) && profile == Profile.M;
        deadEndLink = deadEnd ? faults.nextInt(links) : -1;
        if (faults.chance(0.25)) {
            addFlaps(faults.fork("flaps"), links);
        }
        if (faults.chance(0.2)) {
            addKills(faults.fork("kills"), hosts);
        }
        lonelyHost = kills.isEmpty() && faults.chance(0.03) ? faults.nextInt(hosts) : -1;

        Rng work = root.fork("work");
        pattern = addTalks(work.fork("talks"), hosts);
        rounds = work.chance(0.5) ? 1 : 1 + work.nextInt(4);
        int some = work.chance(0.6) ? 1 : 1 + work.nextInt(work.chance(0.2) ? 16 : 4);
        streams = Math.clamp(MAX_STREAMS / talks.size(), 1, some);
        depth = 1 << work.nextInt(7);
        bothWays = work.chance(0.3);
        lateReceives = work.chance(0.4);
        closes = work.chance(0.6);
        rude = closes && work.chance(0.15);
        eager = work.chance(0.5);
        // A refused request ends both directions of its stream.
        poisoned = work.chance(0.2) && !bothWays ? 0.3 : 0;
        thinkPs = PS_PER_NS * pick(work, US, 20 * US, 400 * US);
        Rng verbs = root.fork("verbs");
        pulling = verbs.chance(0.5) ? 0 : choose(verbs, 0.1, 0.3, 0.8);
        rnrTimerUs = (int) pick(verbs, 1, 200, 200, 5_000);
        retriesForEver = verbs.chance(0.2);
        // A budget of packets and one of bytes of memory keep every seed short.
        long flows = (long) talks.size() * streams * (bothWays ? 2 : 1);
        double packets = 600 * Math.pow(30, work.nextDouble());
        long perFlow = Math.max(1, (long) (packets / flows / rounds));
        maxLength = Math.min(longest(work), Math.max(perFlow, 4) * mtu);
        long fitting = Math.max(1, MEMORY_BYTES / (flows * maxLength));
        slots = (int) Math.min(fitting, 1 + work.nextInt(8));
        slotBytes = (int) maxLength;
        long perMessage = 1 + maxLength / (3L * mtu);
        messages = Math.clamp(perFlow / perMessage, 1, 200);
    }

    private static long pick(Rng rng, long... choices) {
        return choices[rng.nextInt(choices.length)];
    }

    private static double choose(Rng rng, double... choices) {
        return choices[rng.nextInt(choices.length)];
    }

    private long longest(Rng rng) {
        if (rng.chance(0.1)) {
            return 1 << 20;
        }
        return rng.chance(0.3) ? 64 + rng.nextInt(400) : 1 + rng.nextInt(24 * mtu);
    }

    /** A moment before the network is healed; early ones are as likely as late ones. */
    private long momentPs(Rng rng) {
        return (long) (healPs * Math.pow(1_000, rng.nextDouble() - 1));
    }

    private void addFlaps(Rng rng, int links) {
        for (int n = 1 + rng.nextInt(6); n > 0; n--) {
            long from = momentPs(rng);
            long length = (long) (momentPs(rng) * rng.nextDouble());
            flaps.add(new Outage(rng.nextInt(links), from, Math.min(healPs, from + length)));
        }
    }

    private void addKills(Rng rng, int hosts) {
        for (int n = 1 + rng.nextInt(Math.max(1, hosts / 3)); n > 0; n--) {
            int host = rng.nextInt(hosts);
            if (kills.stream().noneMatch(kill -> kill.target() == host)) {
                long from = momentPs(rng);
                long back = rng.chance(0.3) ? NEVER : from + momentPs(rng);
                kills.add(new Outage(host, from, back));
            }
        }
    }

    private String addTalks(Rng rng, int hosts) {
        int kind = rng.nextInt(5);
        // Of the pairs, some dial each other at the same moment.
        boolean mutual = kind == 3 && rng.fork("mutual").chance(0.5);
        int many = 1 + rng.nextInt(rng.chance(0.3) ? 40 : 10);
        int centre = rng.nextInt(hosts);
        boolean selfAllowed = network.topology.switches() > 0;
        for (int i = 0; i < many; i++) {
            int a = kind == 4 ? i % hosts : rng.nextInt(hosts);
            int b = kind == 4 ? (i + 1) % hosts : rng.nextInt(hosts);
            if (kind <= 1) {
                b = centre;
            } else if (kind == 2) {
                a = centre;
            }
            if (a == b && (!selfAllowed || rng.chance(0.9))) {
                b = (a + 1) % hosts;
            }
            Talk talk = new Talk(a, b, rng.chance(0.5) ? 0 : momentPs(rng) / 2);
            talks.add(talk);
            if (mutual) {
                talks.add(new Talk(b, a, talk.startPs()));
            }
        }
        return switch (kind) {
            case 0, 1 -> "incast to h" + centre;
            case 2 -> "outcast from h" + centre;
            case 3 -> mutual ? "random pairs, both dial" : "random pairs";
            default -> "ring";
        };
    }

    /** Some are dead for good, others are slow to notice: contexts must not wait for them long. */
    private boolean peersVanish() {
        return !kills.isEmpty() || lonelyHost >= 0;
    }

    /** Of every host; a host keeps its own when it is restarted. */
    DeviceLimits limits(int host) {
        Rng rng = limits.fork("host " + host);
        boolean shortLine = rng.chance(0.2);
        Rng more = rng.fork("reads");
        DeviceLimits.Builder builder =
                DeviceLimits.defaults().toBuilder()
                        .profiles(profile.code())
                        .payloadMtu(rng.chance(0.8) ? mtu : (int) pick(rng, 256, mtu))
                        .maxPaths(1 + rng.nextInt(16))
                        .routes(16)
                        .openMessages(rng.chance(0.3) ? 1 + rng.nextInt(3) : 64)
                        .maxConnections(400)
                        .contexts(smallPools ? 1 + rng.nextInt(16) : 1 + rng.nextInt(256))
                        .maxWaiters(shortLine ? 2 : 64)
                        .maxWaitersPerPeer(rng.chance(0.2) ? 1 : 2)
                        .policy(policy)
                        .shortSlots((int) pick(rng, 0, 1, 8))
                        .shortDemandBytes(pick(rng, 1_024, 65_536))
                        .quotaBytes(
                                tinyQuotas
                                        ? pick(rng, 1, 300, 2_000)
                                        : pick(rng, 2_000, 20_000, 1 << 20))
                        .quotaTimeNs(pick(rng, 50 * US, MS))
                        .packetLifetimeNs(packetLifetimeNs)
                        .lingerNs(pick(rng, 0, 20 * US, 10 * MS, 100 * MS))
                        .rtoFloorNs(pick(rng, 100 * US, MS, 4 * MS))
                        .ackDelayNs(pick(rng, 0, 5 * US, 50 * US))
                        .ackBytes((int) pick(rng, 1, 4_096, 32 << 10))
                        .maxReads(more.chance(0.3) ? 1 + more.nextInt(3) : 256);
        if (rng.chance(0.3)) {
            builder.receiveWindowBytes(16_384L << rng.nextInt(6));
        }
        if (rng.chance(0.5)) {
            builder.inboundRateBitsPerSecond(network.hostRate() / pick(rng, 1, 1, 2, 10));
        }
        if (peersVanish()) {
            builder.silenceNs(500 * MS);
        }
        builder.earlyData(rng.chance(0.8));
        // Who has no place in line may be refused for long.
        boolean denies = policy == ExhaustionPolicy.DENY;
        builder.giveUpNs(denies || smallPools ? PATIENT_NS : 4_000 * MS);
        return builder.build();
    }

    /** Times after which a host that was alone for so long is given up by everybody. */
    long lonelyPs() {
        return PS_PER_NS * (PATIENT_NS + 5_000 * MS);
    }

    /** A length, most of them at an edge of something. */
    int length(Rng rng) {
        long length =
                switch (rng.nextInt(8)) {
                    case 0 -> 0;
                    case 1 -> 1 + rng.nextInt(16);
                    case 2 -> (long) mtu * (1 + rng.nextInt(4));
                    case 3 -> (long) mtu * (1 + rng.nextInt(4)) + rng.nextInt(3) - 1;
                    case 4 -> maxLength;
                    case 5 -> 65_536 + rng.nextInt(3) - 1;
                    default -> rng.nextInt((int) maxLength + 1);
                };
        return (int) Math.clamp(length, 0, maxLength);
    }

    @Override
    public String toString() {
        return """
        network  %s
        devices  profile %s, MTU %d, %s, policy %s%s, busy for %d ns, packets live %d us
        work     %s, %d talks x %d rounds x %d streams x %d messages of 0..%d B, \
        depth %d, %d slots%s%s%s%s%s%s%s, RNR timer %d us%s
        faults   until %d us: loss %s, in bursts %s, corruption %s at %s of the ports, \
        duplicates %s, %s reordered by up to %d ns, dead end %s
                 flaps %s, kills %s, cut off %s
        """
                .formatted(
                        network,
                        profile,
                        mtu,
                        smallPools ? "few contexts" : "many contexts",
                        policy,
                        tinyQuotas ? ", tiny quotas" : "",
                        busyPs / PS_PER_NS,
                        packetLifetimeNs / US,
                        pattern,
                        talks.size(),
                        rounds,
                        streams,
                        messages,
                        maxLength,
                        depth,
                        slots,
                        bothWays ? ", both ways" : "",
                        lateReceives ? ", late receives" : "",
                        closes ? ", closes" : "",
                        rude ? " rudely" : "",
                        eager ? ", eager" : "",
                        poisoned > 0 ? ", wrong keys" : "",
                        pulling > 0 ? ", %.0f %% reads and atomics".formatted(100 * pulling) : "",
                        rnrTimerUs,
                        retriesForEver ? " for ever" : "",
                        healPs / PS_PER_NS / US,
                        loss,
                        lossInBursts,
                        corruption,
                        faultyPorts,
                        duplicates,
                        reordered,
                        reorderPs / PS_PER_NS,
                        deadEndLink < 0 ? "none" : "link " + deadEndLink,
                        flaps,
                        kills,
                        lonelyHost < 0 ? "none" : "h" + lonelyHost);
    }
}
