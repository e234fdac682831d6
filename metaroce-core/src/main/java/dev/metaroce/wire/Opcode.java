package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/**
 * Operations of DATA packets: the one table that says which headers follow and what the target must
 * have ready.
 *
 * <pre>
 *  code  opcode        headers after the common one     RETH  takes a receive  immediate
 *   1    WRITE         MSGETH 16, RETH 16                yes       no              no
 *   2    WRITE_IMM     MSGETH 16, RETH 16, (IMM 4)       yes       yes             yes
 *   3    SEND          MSGETH 16, RQETH 4                no        yes             no
 *   4    SEND_IMM      MSGETH 16, RQETH 4, (IMM 4)       no        yes             yes
 *   5    SEND_INV      MSGETH 16, RQETH 4, RKey 4        no        yes             no
 *   8    READ_REQ      MSGETH 16, RETH 16, SegLength 4   yes       no              no
 *  10    CMP_SWAP      MSGETH 16, AtomicETH 28           no        no              no
 *  11    FETCH_ADD     MSGETH 16, AtomicETH 28           no        no              no
 *  15    SKIP          none                              no        no              no
 * replies, from target to initiator
 *   9    READ_DATA     RPLETH 16                         no        no              no
 *  12    ATOMIC_REPLY  RPLETH 16                         no        no              no
 * </pre>
 */
public enum Opcode {
    /** Places bytes in a region of the target. */
    WRITE(1, 48, true, false, false),
    /** Places bytes in a region, then completes a posted receive with an immediate. */
    WRITE_IMM(2, 48, true, true, true),
    /** Places bytes in a posted receive. */
    SEND(3, 36, false, true, false),
    /** Places bytes in a posted receive and completes it with an immediate. */
    SEND_IMM(4, 36, false, true, true),
    /** Places bytes in a posted receive and takes the remote rights from a region. */
    SEND_INV(5, 40, false, true, false),
    /** Asks for bytes of a region, as many as fit one packet. */
    READ_REQ(8, 52, true, false, false),
    /** Answers a READ_REQ with the bytes. */
    READ_DATA(9, 32, false, false, false),
    /** Stores a 64-bit value when the old one is what the initiator expects. */
    CMP_SWAP(10, 60, false, false, false),
    /** Adds to a 64-bit value. */
    FETCH_ADD(11, 60, false, false, false),
    /** Answers CMP_SWAP and FETCH_ADD with the old value. */
    ATOMIC_REPLY(12, 32, false, false, false),
    /** Closes a sequence number whose message was abandoned. */
    SKIP(15, 16, false, false, false);

    private static final @Nullable Opcode[] BY_CODE = new Opcode[16];

    static {
        for (Opcode opcode : values()) {
            BY_CODE[opcode.code] = opcode;
        }
    }

    private final int code;
    private final int headerBytes;
    private final boolean hasReth;
    private final boolean consumesReceive;
    private final boolean carriesImmediate;

    Opcode(
            int code,
            int headerBytes,
            boolean hasReth,
            boolean consumesReceive,
            boolean carriesImmediate) {
        this.code = code;
        this.headerBytes = headerBytes;
        this.hasReth = hasReth;
        this.consumesReceive = consumesReceive;
        this.carriesImmediate = carriesImmediate;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** Bytes of all headers, the common one included, an immediate not. */
    public int headerBytes() {
        return headerBytes;
    }

    /** True when a RETH follows the message header. */
    public boolean hasReth() {
        return hasReth;
    }

    /** True when the message takes a posted receive at the target. */
    public boolean consumesReceive() {
        return consumesReceive;
    }

    /** True when the packet with flag LAST carries an immediate. */
    public boolean carriesImmediate() {
        return carriesImmediate;
    }

    /** True for requests whose packets are answered by a reply each: READ and atomics. */
    public boolean isPull() {
        return this == READ_REQ || isAtomic();
    }

    /** True for CMP_SWAP and FETCH_ADD. */
    public boolean isAtomic() {
        return this == CMP_SWAP || this == FETCH_ADD;
    }

    /** True for what a target sends to an initiator. */
    public boolean isReply() {
        return this == READ_DATA || this == ATOMIC_REPLY;
    }

    /** True when the message names a region whose key is to be invalidated. */
    public boolean invalidates() {
        return this == SEND_INV;
    }

    /** True when a message of one packet may ride in a REQUEST. */
    public boolean ridesInRequest() {
        //= MR-3.7-1
        return switch (this) {
            case WRITE, WRITE_IMM, SEND, SEND_IMM, SEND_INV -> true;
            case READ_REQ, READ_DATA, CMP_SWAP, FETCH_ADD, ATOMIC_REPLY, SKIP -> false;
        };
    }

    /** The operation of a code that is known to be valid, as the one of a posted request. */
    public static Opcode ofValid(int code) {
        Opcode opcode = of(code);
        return opcode == null ? SKIP : opcode;
    }

    /** The operation with this code, or null for every code this version does not know. */
    public static @Nullable Opcode of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
