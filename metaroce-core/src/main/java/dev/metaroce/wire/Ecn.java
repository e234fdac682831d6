package dev.metaroce.wire;

/** The ECN field of the IP header that a datagram came with (RFC 3168, section 5). */
public enum Ecn {
    /** The driver cannot see it. */
    UNKNOWN,
    /** Not ECN-capable: sent so, or cleared on the way. */
    NOT_ECT,
    /** ECN-capable, not marked. */
    ECT,
    /** Congestion experienced. */
    CE;

    private static final Ecn[] BY_BITS = {NOT_ECT, ECT, ECT, CE};

    /** From the two low bits of an IPv4 TOS or an IPv6 traffic class. */
    public static Ecn ofTrafficClass(int trafficClass) {
        return BY_BITS[trafficClass & 3];
    }
}
