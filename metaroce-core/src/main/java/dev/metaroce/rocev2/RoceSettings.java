package dev.metaroce.rocev2;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.AckTimeout;
import dev.metaroce.wire.roce.RoceUdp;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * What a RoCEv2 device is to be like, beside its {@code DeviceLimits}, of which the payload MTU,
 * the number of connections and the give-up time count here too. Start with {@link #at}.
 *
 * @param addresses own addresses, one for each plane; the ICRC covers them, so they are the exact
 *     ones that packets leave from. Their ports mean nothing
 * @param sourcePorts UDP port that packets of each route leave from, 1..1024 of them; the ICRC
 *     covers it. A queue pair keeps one route, which its flow label chooses
 * @param maxQps queue pairs at once, 1..1,048,576; their table grows with use. Default 65,536
 * @param ackTimeout exponent of the time-out, 4.096 us * 2^n, 1..31, 0 for none; default 14, 67 ms
 * @param retryCount how often in a row a packet is sent again without an answer, 0..7; default 7
 * @param maxReadAtomic READs and atomics at once, asked for and served, 1..128; default 16
 * @param trigger when a gap is told of; default REPAIRED
 * @param packetsPerAck packets after which an acknowledgement is asked for at the latest, beside
 *     that of every message, 1..65,536; default 16
 * @param windowPackets packets on the way at once, 1..4,194,304; default 128, as Soft-RoCE
 * @param pKey partition key, 16 bits; default 0xFFFF
 * @param dcqcn constants of congestion control; null, the default, for none
 * @param lineBitsPerSecond rate that a flow starts with under congestion control; default 100 Gb/s
 */
public record RoceSettings(
        List<NetAddress> addresses,
        List<Integer> sourcePorts,
        int maxQps,
        int ackTimeout,
        int retryCount,
        int maxReadAtomic,
        GoBackN trigger,
        int packetsPerAck,
        int windowPackets,
        int pKey,
        @Nullable DcqcnSettings dcqcn,
        long lineBitsPerSecond) {
    static final int MOST_QPS = 1 << 20;

    public RoceSettings {
        addresses = List.copyOf(addresses);
        sourcePorts = List.copyOf(sourcePorts);
        range("addresses", addresses.size(), 1, 256);
        range("sourcePorts", sourcePorts.size(), 1, 1024);
        for (int port : sourcePorts) {
            range("sourcePorts", port, 0, 65_535);
        }
        range("maxQps", maxQps, 1, MOST_QPS);
        range("ackTimeout", ackTimeout, AckTimeout.INFINITE, AckTimeout.MAX);
        range("retryCount", retryCount, 0, 7);
        range("maxReadAtomic", maxReadAtomic, 1, 128);
        range("packetsPerAck", packetsPerAck, 1, 65_536);
        range("windowPackets", windowPackets, 1, 1 << 22);
        range("pKey", pKey, 0, 0xFFFF);
        range("lineBitsPerSecond", lineBitsPerSecond, 1, 16_000_000_000_000L);
    }

    private static void range(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    "RoceSettings: %s %d is not in %d..%d".formatted(field, value, min, max));
        }
    }

    /** The defaults for a device with this address that sends all from port 4791. */
    public static RoceSettings at(NetAddress address) {
        return new RoceSettings(
                List.of(address),
                List.of(RoceUdp.PORT),
                65_536,
                14,
                7,
                16,
                GoBackN.REPAIRED,
                16,
                128,
                0xFFFF,
                null,
                100_000_000_000L);
    }

    /** A builder that starts from these values. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Collects changes to settings; {@link #build} validates them. */
    public static final class Builder {
        private List<NetAddress> addresses;
        private List<Integer> sourcePorts;
        private int maxQps;
        private int ackTimeout;
        private int retryCount;
        private int maxReadAtomic;
        private GoBackN trigger;
        private int packetsPerAck;
        private int windowPackets;
        private int pKey;
        private @Nullable DcqcnSettings dcqcn;
        private long lineBitsPerSecond;

        private Builder(RoceSettings from) {
            addresses = from.addresses;
            sourcePorts = from.sourcePorts;
            maxQps = from.maxQps;
            ackTimeout = from.ackTimeout;
            retryCount = from.retryCount;
            maxReadAtomic = from.maxReadAtomic;
            trigger = from.trigger;
            packetsPerAck = from.packetsPerAck;
            windowPackets = from.windowPackets;
            pKey = from.pKey;
            dcqcn = from.dcqcn;
            lineBitsPerSecond = from.lineBitsPerSecond;
        }

        public Builder addresses(List<NetAddress> value) {
            addresses = value;
            return this;
        }

        public Builder sourcePorts(List<Integer> value) {
            sourcePorts = value;
            return this;
        }

        public Builder maxQps(int value) {
            maxQps = value;
            return this;
        }

        public Builder ackTimeout(int value) {
            ackTimeout = value;
            return this;
        }

        public Builder retryCount(int value) {
            retryCount = value;
            return this;
        }

        public Builder maxReadAtomic(int value) {
            maxReadAtomic = value;
            return this;
        }

        public Builder trigger(GoBackN value) {
            trigger = value;
            return this;
        }

        public Builder packetsPerAck(int value) {
            packetsPerAck = value;
            return this;
        }

        public Builder windowPackets(int value) {
            windowPackets = value;
            return this;
        }

        public Builder pKey(int value) {
            pKey = value;
            return this;
        }

        public Builder dcqcn(@Nullable DcqcnSettings value) {
            dcqcn = value;
            return this;
        }

        public Builder lineBitsPerSecond(long value) {
            lineBitsPerSecond = value;
            return this;
        }

        public RoceSettings build() {
            return new RoceSettings(
                    addresses,
                    sourcePorts,
                    maxQps,
                    ackTimeout,
                    retryCount,
                    maxReadAtomic,
                    trigger,
                    packetsPerAck,
                    windowPackets,
                    pKey,
                    dcqcn,
                    lineBitsPerSecond);
        }
    }
}
