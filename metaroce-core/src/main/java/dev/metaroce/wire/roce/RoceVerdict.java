package dev.metaroce.wire.roce;

/** What the {@link RoceDoor} says about a datagram, in the order of its checks. */
public enum RoceVerdict {
    /** A packet whose headers are all there and whose ICRC is right. */
    OK,
    /** Shorter than a BTH and an ICRC, or longer than any packet. */
    BAD_SIZE,
    /** Of another transport header version. */
    BAD_VERSION,
    /** An operation that reliable connections and their management do not have. */
    UNKNOWN_OPCODE,
    /** Pad count, length and operation contradict each other. */
    MALFORMED,
    /** The ICRC does not match. */
    BAD_ICRC
}
