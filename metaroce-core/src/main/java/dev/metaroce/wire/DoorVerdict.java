package dev.metaroce.wire;

/** What the door says about a datagram, in the order of its checks. */
public enum DoorVerdict {
    /** A packet of this version, whole and well formed. */
    OK,
    /** Shorter than the shortest packet. */
    TOO_SHORT,
    /** Of another wire version. */
    BAD_VERSION,
    /** The checksum does not match. */
    BAD_CRC,
    /** Unknown type or opcode, a size that does not fit, or fields that contradict each other. */
    MALFORMED
}
