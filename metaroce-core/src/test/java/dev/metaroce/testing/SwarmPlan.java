package dev.metaroce.testing;

import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Profile;

/**
 * What one swarm run is made of: everything follows from the seed. Most seeds leave most faults
 * out, so that each fault also meets quiet networks and other faults in pairs.
 */
public final class SwarmPlan {
    private static final long MS = 1_000_000;
    private static final int[] MTUS = {256, 512, 1024, 1408, 4096, 8896};

    final long seed;
    public final Profile profile;
    final int initiators;
    final int streams;
    final int messages;
    final int depth;
    final boolean bothWays;
    final boolean lateReceives;
    final boolean closes;
    final boolean selfConnect;
    final boolean poisoned;
    final double killed;
    final int maxLength;
    final DeviceLimits hub;
    final DeviceLimits initiator;

    final double loss;
    final double duplicates;
    final double corrupted;
    final double reordered;
    final long reorderNs;
    final long latencyNs;
    final long skewNs;
    final int blackRoute;
    final long outageNs;
    final long rateBitsPerSecond;
    final long coalesceNs;
    final int batchBytes;
    final int batchRuns;

    public SwarmPlan(long seed) {
        this.seed = seed;
        Rng rng = new Rng(seed).fork("plan");
        profile = rng.chance(0.3) ? Profile.S : Profile.M;
        initiators = rng.chance(0.3) ? 1 : 1 + rng.nextInt(20);
        streams = rng.chance(0.5) ? 1 : 1 + rng.nextInt(5);
        int mtu = MTUS[rng.nextInt(MTUS.length)];
        maxLength = rng.chance(0.2) ? 200_000 : 1 + rng.nextInt(12 * mtu);
        int perStream = Math.min(40, 6_000_000 / (initiators * streams * (maxLength + 1)));
        messages = 1 + rng.nextInt(Math.max(1, perStream));
        depth = 1 << rng.nextInt(7);
        bothWays = rng.chance(0.3);
        lateReceives = rng.chance(0.4);
        closes = rng.chance(0.5);
        selfConnect = rng.chance(0.1);
        loss = rng.chance(0.6) ? 0 : pick(rng, 0.001, 0.01, 0.05, 0.1, 0.2);
        duplicates = rng.chance(0.7) ? 0 : pick(rng, 0.01, 0.1, 0.5);
        corrupted = rng.chance(0.8) ? 0 : pick(rng, 0.001, 0.01, 0.05);
        reordered = rng.chance(0.7) ? 0 : pick(rng, 0.01, 0.1, 0.5);
        latencyNs = (long) pick(rng, 2_000, 20_000, 500_000, 5_000_000);
        reorderNs = 1 + (long) (latencyNs * pick(rng, 0.2, 2, 10));
        skewNs = rng.chance(0.7) ? 0 : latencyNs;
        blackRoute = rng.chance(0.8) || profile == Profile.S ? -1 : 1 + rng.nextInt(8);
        outageNs = rng.chance(0.8) ? 0 : (1 + rng.nextInt(200)) * MS;
        rateBitsPerSecond = rng.chance(0.7) ? 0 : (long) pick(rng, 1e8, 1e9, 1e10);
        poisoned = rng.chance(0.2) && !bothWays;
        killed = rng.chance(0.15) ? 0.4 : 0;
        coalesceNs = rng.chance(0.5) ? -1 : rng.nextInt(20_000);

        boolean small = rng.chance(0.4);
        batchBytes = small ? 2_000 + mtu + rng.nextInt(30_000) : 1 << 20;
        batchRuns = small ? 1 + rng.nextInt(8) : 256;

        DeviceLimits.Builder builder =
                Profiles.only(profile)
                        .payloadMtu(mtu)
                        .maxPaths(1 + rng.nextInt(16))
                        .routes(16)
                        .openMessages(rng.chance(0.3) ? 1 + rng.nextInt(3) : 64)
                        .maxConnections(200);
        boolean deny = rng.chance(0.3);
        boolean shortLine = rng.chance(0.2);
        if (deny || shortLine) {
            // Who has no place in line may be refused for long.
            builder.giveUpNs(60_000 * MS);
        }
        initiator = builder.build();
        if (killed > 0) {
            // The dead keep their contexts for twice this, while others lose patience.
            builder.silenceNs(500 * MS);
        }
        if (rng.chance(0.3)) {
            builder.receiveWindowBytes(16_384L << rng.nextInt(6));
        }
        if (rng.chance(0.3)) {
            builder.inboundRateBitsPerSecond((long) pick(rng, 5e7, 1e9, 1e10));
        }
        hub =
                builder.maxPaths(1 + rng.nextInt(16))
                        .contexts(1 + rng.nextInt(8))
                        .maxWaiters(shortLine ? 2 : 64)
                        .maxWaitersPerPeer(rng.chance(0.2) ? 1 : 2)
                        .policy(deny ? ExhaustionPolicy.DENY : ExhaustionPolicy.QUEUE)
                        .quotaBytes(rng.chance(0.5) ? 20_000 : 1 << 20)
                        .packetLifetimeNs(10 * MS)
                        .build();
    }

    private static double pick(Rng rng, double... choices) {
        return choices[rng.nextInt(choices.length)];
    }

    @Override
    public String toString() {
        return "seed "
                + seed
                + ": profile "
                + profile
                + ", "
                + initiators
                + " initiators x "
                + streams
                + " streams x "
                + messages
                + " messages up to "
                + maxLength
                + " B, depth "
                + depth
                + (bothWays ? ", both ways" : "")
                + (lateReceives ? ", late receives" : "")
                + (closes ? ", closes" : "")
                + (selfConnect ? ", self" : "")
                + (poisoned ? ", wrong keys" : "")
                + (killed > 0 ? ", killed " + killed : "")
                + ", loss "
                + loss
                + ", dup "
                + duplicates
                + ", corrupt "
                + corrupted
                + ", reorder "
                + reordered
                + " by "
                + reorderNs
                + " ns, latency "
                + latencyNs
                + ", skew "
                + skewNs
                + ", black route "
                + blackRoute
                + ", outage "
                + outageNs
                + ", rate "
                + rateBitsPerSecond
                + ", coalesce "
                + coalesceNs
                + ", batch "
                + batchBytes
                + "/"
                + batchRuns
                + "\n  hub "
                + hub
                + "\n  initiator "
                + initiator;
    }
}
