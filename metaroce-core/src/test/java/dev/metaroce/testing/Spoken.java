package dev.metaroce.testing;

import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.roce.AckTimeout;

/** What the nodes of a case that holds for both protocols speak. */
public enum Spoken {
    METAROCE {
        @Override
        public Lab.Node add(Lab lab, DeviceLimits limits) {
            return lab.add(limits);
        }

        @Override
        public Pair pair(long seed, DeviceLimits limits, long bytes) {
            return new Pair(seed, limits, 1, bytes);
        }

        @Override
        public long deadPeerNs(DeviceLimits limits) {
            return limits.giveUpNs();
        }
    },

    /** Its timer has steps of two: the give-up time of the limits is met within a fifth or so. */
    ROCE_V2 {
        @Override
        public Lab.Node add(Lab lab, DeviceLimits limits) {
            return lab.addRoce(limits, plain -> settings(plain, limits));
        }

        @Override
        public Pair pair(long seed, DeviceLimits limits, long bytes) {
            return Pair.ofRoce(seed, limits, plain -> settings(plain, limits), 1, bytes);
        }

        @Override
        public long deadPeerNs(DeviceLimits limits) {
            return TRIES * AckTimeout.ns(ackTimeout(limits));
        }
    };

    private static final int TRIES = 8;

    /** A node of a lab. */
    public abstract Lab.Node add(Lab lab, DeviceLimits limits);

    /** Two nodes with a queue pair each. */
    public abstract Pair pair(long seed, DeviceLimits limits, long bytes);

    /** How long work waits for a peer that died, in nanoseconds. */
    public abstract long deadPeerNs(DeviceLimits limits);

    private static RoceSettings settings(RoceSettings plain, DeviceLimits limits) {
        return plain.toBuilder().retryCount(TRIES - 1).ackTimeout(ackTimeout(limits)).build();
    }

    /** The timer whose tries take about the give-up time. */
    private static int ackTimeout(DeviceLimits limits) {
        return AckTimeout.code(limits.giveUpNs() * 6 / 5 / TRIES + 1) - 1;
    }
}
