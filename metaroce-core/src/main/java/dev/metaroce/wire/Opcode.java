package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/**
 * Operations of DATA packets: the one table that says which headers follow and what the target must
 * have ready. Codes 5 and 8..12 are kept for later operations and are unknown in this version.
 *
 * <pre>
 *  code  opcode     headers after the common one      RETH  takes a receive  immediate
 *   1    WRITE      MSGETH 16, RETH 16                 yes       no              no
 *   2    WRITE_IMM  MSGETH 16, RETH 16, (IMM 4)        yes       yes             yes
 *   3    SEND       MSGETH 16, RQETH 4                 no        yes             no
 *   4    SEND_IMM   MSGETH 16, RQETH 4, (IMM 4)        no        yes             yes
 *  15    SKIP       none                               no        no              no
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

    /** True when a message of one packet may ride in a REQUEST. */
    public boolean ridesInRequest() {
        //= MR-3.7-1
        return switch (this) {
            case WRITE, WRITE_IMM, SEND, SEND_IMM -> true;
            case SKIP -> false;
        };
    }

    /** The operation with this code, or null for every code this version does not know. */
    public static @Nullable Opcode of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
