package dev.metaroce.wire;

/**
 * An IP address and UDP port without any socket type: IPv6 as two longs, IPv4 mapped into it
 * (::ffff:a.b.c.d). Ports intern these, so the engine may keep and compare them freely.
 *
 * @param high upper 64 bits of the IPv6 address
 * @param low lower 64 bits of the IPv6 address
 * @param port UDP port, 0..65535
 * @param scopeId IPv6 zone index, 0 when there is none
 * @param plane which of its own addresses a device reaches it from, 0 when it has one
 */
public record NetAddress(long high, long low, int port, int scopeId, int plane) {
    /** What {@link #low} of a mapped IPv4 address has above its 32 bits. */
    public static final long V4_MAPPED = 0x0000_FFFF_0000_0000L;

    /** An IPv4 address given as its 32 bits. */
    public static NetAddress ofIpv4(int address, int port) {
        return new NetAddress(0, V4_MAPPED | (address & 0xFFFF_FFFFL), port, 0, 0);
    }

    public boolean isIpv4() {
        return high == 0 && (low & 0xFFFF_FFFF_0000_0000L) == V4_MAPPED;
    }

    /** The same address as seen from another address of the device. */
    public NetAddress onPlane(int other) {
        return other == plane ? this : new NetAddress(high, low, port, scopeId, other);
    }

    /** True when both are the same host, whatever the port. */
    public boolean sameHost(NetAddress other) {
        return low == other.low && high == other.high;
    }

    @Override
    public String toString() {
        if (isIpv4()) {
            return ((low >> 24) & 0xFF)
                    + "."
                    + ((low >> 16) & 0xFF)
                    + "."
                    + ((low >> 8) & 0xFF)
                    + "."
                    + (low & 0xFF)
                    + ":"
                    + port;
        }
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < 8; i++) {
            long half = i < 4 ? high >>> (48 - 16 * i) : low >>> (48 - 16 * (i - 4));
            text.append(i == 0 ? "" : ":").append(Long.toHexString(half & 0xFFFF));
        }
        if (scopeId != 0) {
            text.append('%').append(scopeId);
        }
        return text.append("]:").append(port).toString();
    }
}
