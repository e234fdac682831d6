package dev.metaroce.transport;

/**
 * Fixed capacities and times of one device. Memory comes with use, up to these capacities; nothing
 * grows beyond them, whatever peers send. Times are nanoseconds.
 *
 * @param contexts receive contexts (CIDs) this device grants, 1..256
 * @param maxPaths paths per lease, as initiator and as target, 1..64
 * @param routes sending sockets the port has beside the device's own, at least {@code maxPaths}
 * @param payloadMtu largest payload per packet, multiple of 64, 256..65,408
 * @param openMessages multi-packet messages in flight per lease, 1..1024
 * @param maxReads READ and atomic packets of a lease that may wait for their replies, 1..1024
 * @param maxWaiters requests in the waiting line, 1..65,536
 * @param maxWaitersPerPeer the same for one peer endpoint
 * @param maxConnections connections of this device in all, 1..16,777,216; half a KiB each when idle
 * @param profiles bit 1 = S, bit 2 = M: what this device offers and accepts
 * @param policy what happens when no CID is free
 * @param receiveWindowBytes bytes all senders together may have on the way to this device's socket
 *     buffer; divided among active leases; 0 = no limit known
 * @param inboundRateBitsPerSecond rate shared out by hints; 0 = unknown, no hints are given
 * @param hintPeriodNs how often shares are worked out at most, about a round trip
 * @param quotaBytes bytes a lease may send while others wait before it is asked back
 * @param quotaTimeNs the same as time
 * @param packetLifetimeNs longest time a packet may wander in the network
 * @param lingerNs how long an idle lease is kept
 * @param grantUnusedNs how long a grant may stay without a word of its holder while others lack one
 * @param silenceNs a holder silent this long is asked by KEEPALIVE, and loses the lease after twice
 * @param giveUpNs no progress this long ends a connection
 * @param rtoFloorNs smallest retransmission time-out
 * @param ackDelayNs longest wait before an acknowledgement
 * @param ackBytes payload after which an acknowledgement is due at once
 * @param earlyData false: messages neither ride in requests for a context, nor are those of peers
 *     executed that do
 * @param shortSlots contexts in use at most by requests that went before others for being short, 0
 *     (none goes before others)..255; one context at least is left for the others
 * @param shortDemandBytes a request for at most so many bytes is short, and a lease that was
 *     preferred for that is asked back when it carried more, 1 KiB..32 MiB
 * @param reclaimDeadlineNs a holder that was asked for a context and still has it after this long
 *     loses it
 * @param mechanisms which of the interchangeable mechanisms are used
 */
public record DeviceLimits(
        int contexts,
        int maxPaths,
        int routes,
        int payloadMtu,
        int openMessages,
        int maxReads,
        int maxWaiters,
        int maxWaitersPerPeer,
        int maxConnections,
        int profiles,
        ExhaustionPolicy policy,
        long receiveWindowBytes,
        long inboundRateBitsPerSecond,
        long hintPeriodNs,
        long quotaBytes,
        long quotaTimeNs,
        long packetLifetimeNs,
        long lingerNs,
        long grantUnusedNs,
        long silenceNs,
        long giveUpNs,
        long rtoFloorNs,
        long ackDelayNs,
        int ackBytes,
        boolean earlyData,
        int shortSlots,
        long shortDemandBytes,
        long reclaimDeadlineNs,
        Mechanisms mechanisms) {

    /** Most paths of a lease: the bits of a context's masks. */
    public static final int MAX_PATHS = Long.SIZE;

    private static final int MOST_CONNECTIONS = 1 << 24;

    private static final long US = 1_000;
    private static final long MS = 1_000_000;

    public DeviceLimits {
        range("contexts", contexts, 1, 256);
        range("maxPaths", maxPaths, 1, MAX_PATHS);
        range("routes", routes, maxPaths, 1024);
        range("payloadMtu", payloadMtu, 256, 65_408);
        if (payloadMtu % 64 != 0) {
            throw bad("payloadMtu", payloadMtu, "is not a multiple of 64");
        }
        range("openMessages", openMessages, 1, 1024);
        range("maxReads", maxReads, 1, 1024);
        range("maxWaiters", maxWaiters, 1, 65_536);
        range("maxWaitersPerPeer", maxWaitersPerPeer, 1, maxWaiters);
        range("maxConnections", maxConnections, 1, MOST_CONNECTIONS);
        range("profiles", profiles, 1, 3);
        range("receiveWindowBytes", receiveWindowBytes, 0, Long.MAX_VALUE);
        range("inboundRateBitsPerSecond", inboundRateBitsPerSecond, 0, 16_000_000_000_000L);
        range("hintPeriodNs", hintPeriodNs, US, 1000 * MS);
        range("quotaBytes", quotaBytes, 1, 1L << 40);
        range("quotaTimeNs", quotaTimeNs, 1, Long.MAX_VALUE / 4);
        range("packetLifetimeNs", packetLifetimeNs, 1, Long.MAX_VALUE / 4);
        range("lingerNs", lingerNs, 0, Long.MAX_VALUE / 4);
        range("grantUnusedNs", grantUnusedNs, 1, Long.MAX_VALUE / 4);
        range("silenceNs", silenceNs, 1, Long.MAX_VALUE / 4);
        range("giveUpNs", giveUpNs, 1, Long.MAX_VALUE / 4);
        range("rtoFloorNs", rtoFloorNs, 1, Long.MAX_VALUE / 4);
        range("ackDelayNs", ackDelayNs, 0, Long.MAX_VALUE / 4);
        range("ackBytes", ackBytes, 1, Integer.MAX_VALUE);
        range("shortSlots", shortSlots, 0, 255);
        range("shortDemandBytes", shortDemandBytes, 1 << 10, 32 << 20);
        range("reclaimDeadlineNs", reclaimDeadlineNs, 1, Long.MAX_VALUE / 4);
    }

    /** Values for software endpoints on ordinary Linux. */
    public static DeviceLimits defaults() {
        return new DeviceLimits(
                256,
                8,
                10,
                8896,
                64,
                256,
                1024,
                64,
                4096,
                3,
                ExhaustionPolicy.QUEUE,
                0,
                0,
                MS,
                1 << 20,
                MS,
                1000 * MS,
                10 * MS,
                250 * MS,
                2000 * MS,
                4000 * MS,
                4 * MS,
                50 * US,
                32 << 10,
                true,
                8,
                64 << 10,
                30_000 * MS,
                Mechanisms.DEFAULT);
    }

    /** Paths of a lease that this device asks for. */
    int sendingPaths() {
        return mechanisms.sequence() == SequenceSpace.LEASE ? 1 : maxPaths;
    }

    private static void range(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw bad(field, value, "is not in " + min + ".." + max);
        }
    }

    private static IllegalArgumentException bad(String field, long value, String why) {
        return new IllegalArgumentException("DeviceLimits: " + field + " " + value + " " + why);
    }

    /** A builder that starts from these values. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Collects changes to a set of limits; {@link #build} validates them. */
    public static final class Builder {
        private int contexts;
        private int maxPaths;
        private int routes;
        private int payloadMtu;
        private int openMessages;
        private int maxReads;
        private int maxWaiters;
        private int maxWaitersPerPeer;
        private int maxConnections;
        private int profiles;
        private ExhaustionPolicy policy;
        private long receiveWindowBytes;
        private long inboundRateBitsPerSecond;
        private long hintPeriodNs;
        private long quotaBytes;
        private long quotaTimeNs;
        private long packetLifetimeNs;
        private long lingerNs;
        private long grantUnusedNs;
        private long silenceNs;
        private long giveUpNs;
        private long rtoFloorNs;
        private long ackDelayNs;
        private int ackBytes;
        private boolean earlyData;
        private int shortSlots;
        private long shortDemandBytes;
        private long reclaimDeadlineNs;
        private Mechanisms mechanisms;

        private Builder(DeviceLimits from) {
            contexts = from.contexts;
            maxPaths = from.maxPaths;
            routes = from.routes;
            payloadMtu = from.payloadMtu;
            openMessages = from.openMessages;
            maxReads = from.maxReads;
            maxWaiters = from.maxWaiters;
            maxWaitersPerPeer = from.maxWaitersPerPeer;
            maxConnections = from.maxConnections;
            profiles = from.profiles;
            policy = from.policy;
            receiveWindowBytes = from.receiveWindowBytes;
            inboundRateBitsPerSecond = from.inboundRateBitsPerSecond;
            hintPeriodNs = from.hintPeriodNs;
            quotaBytes = from.quotaBytes;
            quotaTimeNs = from.quotaTimeNs;
            packetLifetimeNs = from.packetLifetimeNs;
            lingerNs = from.lingerNs;
            grantUnusedNs = from.grantUnusedNs;
            silenceNs = from.silenceNs;
            giveUpNs = from.giveUpNs;
            rtoFloorNs = from.rtoFloorNs;
            ackDelayNs = from.ackDelayNs;
            ackBytes = from.ackBytes;
            earlyData = from.earlyData;
            shortSlots = from.shortSlots;
            shortDemandBytes = from.shortDemandBytes;
            reclaimDeadlineNs = from.reclaimDeadlineNs;
            mechanisms = from.mechanisms;
        }

        public Builder contexts(int value) {
            contexts = value;
            return this;
        }

        public Builder maxPaths(int value) {
            maxPaths = value;
            return this;
        }

        public Builder routes(int value) {
            routes = value;
            return this;
        }

        public Builder payloadMtu(int value) {
            payloadMtu = value;
            return this;
        }

        public Builder openMessages(int value) {
            openMessages = value;
            return this;
        }

        public Builder maxReads(int value) {
            maxReads = value;
            return this;
        }

        public Builder maxWaiters(int value) {
            maxWaiters = value;
            return this;
        }

        public Builder maxWaitersPerPeer(int value) {
            maxWaitersPerPeer = value;
            return this;
        }

        public Builder maxConnections(int value) {
            maxConnections = value;
            return this;
        }

        public Builder profiles(int value) {
            profiles = value;
            return this;
        }

        public Builder policy(ExhaustionPolicy value) {
            policy = value;
            return this;
        }

        public Builder receiveWindowBytes(long value) {
            receiveWindowBytes = value;
            return this;
        }

        public Builder inboundRateBitsPerSecond(long value) {
            inboundRateBitsPerSecond = value;
            return this;
        }

        public Builder hintPeriodNs(long value) {
            hintPeriodNs = value;
            return this;
        }

        public Builder quotaBytes(long value) {
            quotaBytes = value;
            return this;
        }

        public Builder quotaTimeNs(long value) {
            quotaTimeNs = value;
            return this;
        }

        public Builder packetLifetimeNs(long value) {
            packetLifetimeNs = value;
            return this;
        }

        public Builder lingerNs(long value) {
            lingerNs = value;
            return this;
        }

        public Builder grantUnusedNs(long value) {
            grantUnusedNs = value;
            return this;
        }

        public Builder silenceNs(long value) {
            silenceNs = value;
            return this;
        }

        public Builder giveUpNs(long value) {
            giveUpNs = value;
            return this;
        }

        public Builder rtoFloorNs(long value) {
            rtoFloorNs = value;
            return this;
        }

        public Builder ackDelayNs(long value) {
            ackDelayNs = value;
            return this;
        }

        public Builder ackBytes(int value) {
            ackBytes = value;
            return this;
        }

        public Builder earlyData(boolean value) {
            earlyData = value;
            return this;
        }

        public Builder shortSlots(int value) {
            shortSlots = value;
            return this;
        }

        public Builder shortDemandBytes(long value) {
            shortDemandBytes = value;
            return this;
        }

        public Builder reclaimDeadlineNs(long value) {
            reclaimDeadlineNs = value;
            return this;
        }

        public Builder mechanisms(Mechanisms value) {
            mechanisms = value;
            return this;
        }

        public DeviceLimits build() {
            return new DeviceLimits(
                    contexts,
                    maxPaths,
                    routes,
                    payloadMtu,
                    openMessages,
                    maxReads,
                    maxWaiters,
                    maxWaitersPerPeer,
                    maxConnections,
                    profiles,
                    policy,
                    receiveWindowBytes,
                    inboundRateBitsPerSecond,
                    hintPeriodNs,
                    quotaBytes,
                    quotaTimeNs,
                    packetLifetimeNs,
                    lingerNs,
                    grantUnusedNs,
                    silenceNs,
                    giveUpNs,
                    rtoFloorNs,
                    ackDelayNs,
                    ackBytes,
                    earlyData,
                    shortSlots,
                    shortDemandBytes,
                    reclaimDeadlineNs,
                    mechanisms);
        }
    }
}
