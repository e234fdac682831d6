package dev.metaroce.wire;

/** Bits of the flags byte in the common header. Bits 0x03 are reserved and sent as zero. */
public final class Flags {
    /** The receiver answers this packet at once. */
    public static final int ACK_REQ = 0x80;

    /** This packet reaches the end of its message. */
    public static final int LAST = 0x40;

    /** This packet was sent before under the same sequence number. */
    public static final int RETX = 0x20;

    /** An immediate follows the headers. */
    public static final int IMM = 0x10;

    /** The operation waits for earlier reads and atomics of its stream. */
    public static final int FENCE = 0x08;

    /** The sender has more to send under this lease, and its hint keeps it back. */
    public static final int MORE = 0x04;

    private Flags() {}
}
