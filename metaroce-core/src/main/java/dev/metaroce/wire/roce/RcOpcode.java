package dev.metaroce.wire.roce;

import org.jspecify.annotations.Nullable;

/**
 * Operations in a {@link Bth}: those of reliable connections, the two of unreliable datagrams that
 * connection management uses, and the congestion notice. The one table that says which headers
 * follow (docs/rocev2.md, section 2).
 */
public enum RcOpcode {
    SEND_FIRST(0x00, Flag.SEND | Flag.FIRST),
    SEND_MIDDLE(0x01, Flag.SEND),
    SEND_LAST(0x02, Flag.SEND | Flag.LAST),
    SEND_LAST_IMM(0x03, Flag.SEND | Flag.LAST | Flag.IMM),
    SEND_ONLY(0x04, Flag.SEND | Flag.ONLY),
    SEND_ONLY_IMM(0x05, Flag.SEND | Flag.ONLY | Flag.IMM),
    WRITE_FIRST(0x06, Flag.WRITE | Flag.FIRST | Flag.RETH),
    WRITE_MIDDLE(0x07, Flag.WRITE),
    WRITE_LAST(0x08, Flag.WRITE | Flag.LAST),
    WRITE_LAST_IMM(0x09, Flag.WRITE | Flag.LAST | Flag.IMM),
    WRITE_ONLY(0x0A, Flag.WRITE | Flag.ONLY | Flag.RETH),
    WRITE_ONLY_IMM(0x0B, Flag.WRITE | Flag.ONLY | Flag.RETH | Flag.IMM),
    READ_REQUEST(0x0C, Flag.REQUEST | Flag.ONLY | Flag.RETH),
    READ_RESPONSE_FIRST(0x0D, Flag.READ_RESPONSE | Flag.FIRST | Flag.AETH),
    READ_RESPONSE_MIDDLE(0x0E, Flag.READ_RESPONSE),
    READ_RESPONSE_LAST(0x0F, Flag.READ_RESPONSE | Flag.LAST | Flag.AETH),
    READ_RESPONSE_ONLY(0x10, Flag.READ_RESPONSE | Flag.ONLY | Flag.AETH),
    ACKNOWLEDGE(0x11, Flag.RESPONSE | Flag.ONLY | Flag.AETH),
    ATOMIC_ACKNOWLEDGE(0x12, Flag.RESPONSE | Flag.ONLY | Flag.AETH | Flag.ATOMIC_ACK),
    CMP_SWAP(0x13, Flag.REQUEST | Flag.ONLY | Flag.ATOMIC),
    FETCH_ADD(0x14, Flag.REQUEST | Flag.ONLY | Flag.ATOMIC),
    SEND_LAST_INV(0x16, Flag.SEND | Flag.LAST | Flag.IETH),
    SEND_ONLY_INV(0x17, Flag.SEND | Flag.ONLY | Flag.IETH),
    UD_SEND_ONLY(0x64, Flag.DATAGRAM | Flag.ONLY | Flag.DETH),
    UD_SEND_ONLY_IMM(0x65, Flag.DATAGRAM | Flag.ONLY | Flag.DETH | Flag.IMM),
    /** Congestion notice; its 16 bytes behind the BTH are reserved and are counted as header. */
    CNP(0x81, Flag.ONLY | Flag.CNP);

    private static final @Nullable RcOpcode[] BY_CODE = new RcOpcode[256];

    static {
        for (RcOpcode opcode : values()) {
            BY_CODE[opcode.code] = opcode;
        }
    }

    private final int code;
    private final int flags;
    private final int headerBytes;

    RcOpcode(int code, int flags) {
        this.code = code;
        this.flags = flags;
        headerBytes =
                Bth.BYTES
                        + (has(Flag.DETH) ? Deth.BYTES : 0)
                        + (has(Flag.RETH) ? Reth.BYTES : 0)
                        + (has(Flag.AETH) ? Aeth.BYTES : 0)
                        + (has(Flag.ATOMIC) ? AtomicEth.BYTES : 0)
                        + (has(Flag.ATOMIC_ACK) ? AtomicAckEth.BYTES : 0)
                        + (has(Flag.IMM) ? ImmDt.BYTES : 0)
                        + (has(Flag.IETH) ? Ieth.BYTES : 0)
                        + (has(Flag.CNP) ? Flag.CNP_RESERVED_BYTES : 0);
    }

    /** The operation with this code, or null for every code that is not of this table. */
    public static @Nullable RcOpcode of(int code) {
        return BY_CODE[code & 0xFF];
    }

    /** Operation of a packet of a SEND, by its place in the message. */
    public static RcOpcode send(boolean first, boolean last) {
        return first ? last ? SEND_ONLY : SEND_FIRST : last ? SEND_LAST : SEND_MIDDLE;
    }

    /** Operation of a packet of a SEND with immediate, by its place in the message. */
    public static RcOpcode sendImm(boolean first, boolean last) {
        return last ? first ? SEND_ONLY_IMM : SEND_LAST_IMM : send(first, false);
    }

    /** Operation of a packet of a SEND with invalidate, by its place in the message. */
    public static RcOpcode sendInv(boolean first, boolean last) {
        return last ? first ? SEND_ONLY_INV : SEND_LAST_INV : send(first, false);
    }

    /** Operation of a packet of a WRITE, by its place in the message. */
    public static RcOpcode write(boolean first, boolean last) {
        return first ? last ? WRITE_ONLY : WRITE_FIRST : last ? WRITE_LAST : WRITE_MIDDLE;
    }

    /** Operation of a packet of a WRITE with immediate, by its place in the message. */
    public static RcOpcode writeImm(boolean first, boolean last) {
        return last ? first ? WRITE_ONLY_IMM : WRITE_LAST_IMM : write(first, false);
    }

    /** Operation of a packet of a READ response, by its place in the response. */
    public static RcOpcode readResponse(boolean first, boolean last) {
        if (first) {
            return last ? READ_RESPONSE_ONLY : READ_RESPONSE_FIRST;
        }
        return last ? READ_RESPONSE_LAST : READ_RESPONSE_MIDDLE;
    }

    /** The value on the wire, 0..255. */
    public int code() {
        return code;
    }

    /** Bytes before the payload: the BTH and all that follow it. */
    public int headerBytes() {
        return headerBytes;
    }

    /** True for the packet that a message starts with: FIRST or ONLY. */
    public boolean isFirst() {
        return has(Flag.FIRST);
    }

    /** True for the packet that a message ends with: LAST or ONLY. */
    public boolean isLast() {
        return has(Flag.LAST);
    }

    /** True for what a requester of a reliable connection sends. */
    public boolean isRequest() {
        return has(Flag.REQUEST);
    }

    /** True for what a responder of a reliable connection sends. */
    public boolean isResponse() {
        return has(Flag.RESPONSE);
    }

    /** True for packets of a SEND of a reliable connection, of any kind. */
    public boolean isSend() {
        return has(Flag.SEND_BIT);
    }

    /** True for packets of a WRITE, with immediate or without. */
    public boolean isWrite() {
        return has(Flag.WRITE_BIT);
    }

    /** True for packets of a READ response. */
    public boolean isReadResponse() {
        return has(Flag.READ_RESPONSE_BIT);
    }

    /** True for CMP_SWAP and FETCH_ADD. */
    public boolean isAtomic() {
        return has(Flag.ATOMIC);
    }

    /** True for unreliable datagrams. */
    public boolean isDatagram() {
        return has(Flag.DETH);
    }

    /** True when the message takes a posted receive with this packet as its last. */
    public boolean endsReceive() {
        return isLast() && (isSend() || (isWrite() && hasImmediate()));
    }

    /** True when a payload may follow the headers. */
    public boolean hasPayload() {
        return has(Flag.PAYLOAD);
    }

    /** True when a {@link Reth} follows the BTH. */
    public boolean hasReth() {
        return has(Flag.RETH);
    }

    /** True when an {@link Aeth} follows the BTH. */
    public boolean hasAeth() {
        return has(Flag.AETH);
    }

    /** True when an {@link ImmDt} is the last header. */
    public boolean hasImmediate() {
        return has(Flag.IMM);
    }

    /** True when an {@link Ieth} follows the BTH. */
    public boolean hasIeth() {
        return has(Flag.IETH);
    }

    private boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Bits of the table; in a class of its own, as an enum's constants come first. */
    private static final class Flag {
        static final int CNP_RESERVED_BYTES = 16;

        static final int FIRST = 1;
        static final int LAST = 1 << 1;
        static final int ONLY = FIRST | LAST;
        static final int PAYLOAD = 1 << 2;
        static final int REQUEST = 1 << 3;
        static final int RESPONSE = 1 << 4;
        static final int SEND_BIT = 1 << 5;
        static final int WRITE_BIT = 1 << 6;
        static final int READ_RESPONSE_BIT = 1 << 7;
        static final int RETH = 1 << 8;
        static final int AETH = 1 << 9;
        static final int IMM = 1 << 10;
        static final int IETH = 1 << 11;
        static final int ATOMIC = 1 << 12;
        static final int ATOMIC_ACK = 1 << 13;
        static final int DETH = 1 << 14;
        static final int CNP = 1 << 15;

        static final int SEND = REQUEST | PAYLOAD | SEND_BIT;
        static final int WRITE = REQUEST | PAYLOAD | WRITE_BIT;
        static final int READ_RESPONSE = RESPONSE | PAYLOAD | READ_RESPONSE_BIT;
        static final int DATAGRAM = PAYLOAD;
    }
}
