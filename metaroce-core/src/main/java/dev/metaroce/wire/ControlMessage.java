package dev.metaroce.wire;

import dev.metaroce.util.Invariant;

/**
 * CTRL packets: the life of a lease. Every message has one size (RELEASE one per path count, DENY
 * one per length of its private data, REQUEST and GRANT one per number of addresses), starts with
 * the common header (path, stream and PSN 0, opcode a {@link ControlOpcode}) and a nonce that ties
 * an answer to its question.
 *
 * <pre>
 *        0      1      2      3      4      5      6      7
 *     +------+------+------+------+------+------+------+------+
 *  16 |                         Nonce                         |  all; 0 in RESET
 *     +------+------+------+------+------+------+------+------+
 *  24 |         Position          |           Wait            |  QUEUED, 36 bytes
 *     +------+------+------+------+------+------+------+------+
 *  24 |Reason|FlgLen| VersionMask |        RetryAfter         |  DENY, 44 + n bytes
 *  32 |                        Cookie                         |
 *  40 |               private data (0..64 bytes)              ...
 *     +------+------+------+------+------+------+------+------+
 *  24 |                      EndpointId                       |  RELEASE, 40 + 4 n bytes
 *  32 |Flags |PathCt|  reserved   |   FinalPsn of path 0, 1, ...
 *     +------+------+------+------+------+------+------+------+
 *  24 | CID  |Epoch |  reserved   |                              RELEASE_ACK, 32 bytes
 *     +------+------+------+------+------+------+------+------+
 *  24 | CID  |Epoch |Reason| rsvd |         Deadline          |  RECLAIM, 36 bytes
 *     +------+------+------+------+------+------+------+------+
 *  24 | CID  |Epoch |  reserved   |                              KEEPALIVE, 32 bytes
 *     +------+------+------+------+------+------+------+------+
 *  24 |                      EndpointId                       |  KEEPALIVE_ACK, 36 bytes
 *     +------+------+------+------+------+------+------+------+
 *  24 |Reason| rsvd | CID  |Epoch |        Incarnation        |  RESET, 36 bytes
 *     +------+------+------+------+------+------+------+------+
 * </pre>
 *
 * <p>REQUEST (196 bytes) and GRANT (148 bytes) are drawn at {@link RequestFields} and {@link
 * GrantFields}. Sizes include the checksum; the common header is not drawn.
 *
 * <p>An {@code encode} method writes a whole packet, checksum included, and returns its bytes.
 * Readers trust the caller to have asked {@link #wellFormed}.
 */
public final class ControlMessage {
    /** The most private data in REQUEST, GRANT and DENY. */
    public static final int MAX_PRIVATE_BYTES = 64;

    /** The most paths a RELEASE can name. */
    public static final int MAX_RELEASE_PATHS = 255;

    /** Bytes of the longest control packet, a RELEASE of 255 paths. */
    public static final int MAX_PACKET_BYTES = 40 + 4 * MAX_RELEASE_PATHS;

    static final int NONCE_AT = 16;

    static final int QUEUED_POSITION_AT = 24;
    static final int QUEUED_WAIT_AT = 28;

    static final int DENY_REASON_AT = 24;
    static final int DENY_FLAGS_LENGTH_AT = 25;
    static final int DENY_VERSION_MASK_AT = 26;
    static final int DENY_RETRY_AFTER_AT = 28;
    static final int DENY_COOKIE_AT = 32;
    static final int DENY_PRIVATE_AT = 40;

    static final int RELEASE_ENDPOINT_ID_AT = 24;
    static final int RELEASE_RESERVED_AT = 32;
    static final int RELEASE_PATH_COUNT_AT = 33;
    static final int RELEASE_SRC_CTX_AT = 34;
    static final int RELEASE_FINAL_PSN_AT = 36;

    static final int LEASE_CID_AT = 24;
    static final int LEASE_EPOCH_AT = 25;
    static final int LEASE_RESERVED_AT = 26;

    static final int RECLAIM_REASON_AT = 26;
    static final int RECLAIM_RESERVED_AT = 27;
    static final int RECLAIM_DEADLINE_AT = 28;

    static final int KEEPALIVE_ACK_ENDPOINT_ID_AT = 24;

    static final int DISCONNECT_ENDPOINT_ID_AT = 24;
    static final int DISCONNECT_CONNECTION_ID_AT = 32;
    static final int DISCONNECT_ROLE_AT = 40;

    static final int RESET_REASON_AT = 24;
    static final int RESET_RESERVED_AT = 25;
    static final int RESET_CID_AT = 26;
    static final int RESET_EPOCH_AT = 27;
    static final int RESET_INCARNATION_AT = 28;

    public static final int REQUEST_BYTES = 196;
    private static final int GRANT_BYTES = 148;

    private ControlMessage() {}

    /** Bytes of the packet with its checksum; where they differ, the least. */
    public static int bytes(ControlOpcode opcode) {
        //= MR-2.6-3
        return switch (opcode) {
            case REQUEST -> REQUEST_BYTES;
            case GRANT -> GRANT_BYTES;
            case QUEUED, RECLAIM, KEEPALIVE_ACK, RESET -> 36;
            case DENY -> denyBytes(0);
            case DISCONNECT -> 48;
            case DISCONNECT_ACK -> 28;
            case RELEASE -> releaseBytes(0);
            case RELEASE_ACK, KEEPALIVE -> 32;
        };
    }

    /** Bytes of a RELEASE that names {@code paths} (0..255) paths, with its checksum. */
    public static int releaseBytes(int paths) {
        return RELEASE_FINAL_PSN_AT + paths * Integer.BYTES + CommonHeader.TRAILER_BYTES;
    }

    /** Bytes of a DENY with {@code length} (0..64) bytes of private data, with its checksum. */
    public static int denyBytes(int length) {
        return DENY_PRIVATE_AT + length + CommonHeader.TRAILER_BYTES;
    }

    /** How many addresses a GRANT may tell of so that it is no longer than its REQUEST. */
    public static int addressRoom(int requested) {
        int more = (REQUEST_BYTES - GRANT_BYTES) / AddressList.bytes(1);
        return Math.min(AddressList.MAX, requested + more);
    }

    /** The nonce of any control packet. */
    public static long nonce(PacketMemory m, int at) {
        return m.i64(at + NONCE_AT);
    }

    // REQUEST and GRANT

    /** Writes a whole REQUEST without a message and returns its bytes. */
    public static int encodeRequest(PacketMemory m, int at, int txTime, RequestFields fields) {
        encodeRequestHead(m, at, txTime, fields);
        return finish(m, at, REQUEST_BYTES + AddressList.bytes(fields.addresses.length));
    }

    /** Writes the 192 bytes of a REQUEST that come before message and checksum. */
    public static void encodeRequestHead(PacketMemory m, int at, int txTime, RequestFields fields) {
        //= MR-2.2-7
        encodeStart(m, at, ControlOpcode.REQUEST, 0, txTime, fields.nonce);
        fields.write(m, at);
    }

    /** Writes a whole GRANT to {@link GrantFields#srcCtx} and returns its bytes. */
    public static int encodeGrant(PacketMemory m, int at, int txTime, GrantFields fields) {
        encodeStart(m, at, ControlOpcode.GRANT, fields.srcCtx, txTime, fields.nonce);
        fields.write(m, at);
        return finish(m, at, GRANT_BYTES + AddressList.bytes(fields.addresses.length));
    }

    // QUEUED

    /** Requests ahead of this one, 0..2^32-1. */
    public static long queuedPosition(PacketMemory m, int at) {
        return m.u32(at + QUEUED_POSITION_AT);
    }

    /** Estimated time until the grant, 0..2^32-1 us. */
    public static long queuedWaitUs(PacketMemory m, int at) {
        return m.u32(at + QUEUED_WAIT_AT);
    }

    /** Writes a whole QUEUED and returns its bytes. */
    public static int encodeQueued(
            PacketMemory m,
            int at,
            int txTime,
            int srcCtx,
            long nonce,
            long position,
            long waitUs) {
        encodeStart(m, at, ControlOpcode.QUEUED, srcCtx, txTime, nonce);
        m.put32(at + QUEUED_POSITION_AT, (int) position);
        m.put32(at + QUEUED_WAIT_AT, (int) waitUs);
        return finish(m, at, bytes(ControlOpcode.QUEUED));
    }

    // DENY

    /** Code of a {@link DenyReason}. */
    public static int denyReason(PacketMemory m, int at) {
        return m.u8(at + DENY_REASON_AT);
    }

    /** True when the message that rode in the REQUEST was executed. */
    public static boolean denyEarlyDone(PacketMemory m, int at) {
        return (m.u8(at + DENY_FLAGS_LENGTH_AT) & GrantFields.FLAG_EARLY_DONE) != 0;
    }

    /** Bit v says that the target speaks wire version v. */
    public static int denyVersionMask(PacketMemory m, int at) {
        return m.u16(at + DENY_VERSION_MASK_AT);
    }

    /** How long to wait before asking again, 0..2^32-1 us. */
    public static long denyRetryAfterUs(PacketMemory m, int at) {
        return m.u32(at + DENY_RETRY_AFTER_AT);
    }

    /** What to put into the next REQUEST; counts with reason COOKIE. */
    public static long denyCookie(PacketMemory m, int at) {
        return m.i64(at + DENY_COOKIE_AT);
    }

    /** Bytes of private data, 0..64. */
    public static int denyPrivateLength(PacketMemory m, int at) {
        return m.u8(at + DENY_FLAGS_LENGTH_AT) & ~GrantFields.FLAG_EARLY_DONE;
    }

    /** A copy of the private data. */
    public static byte[] denyPrivateData(PacketMemory m, int at) {
        byte[] data = new byte[denyPrivateLength(m, at)];
        readPrivate(m, at + DENY_PRIVATE_AT, data, data.length);
        return data;
    }

    /**
     * Writes a whole DENY and returns its bytes.
     *
     * @param privateData 0..64 bytes; none but with reason SERVICE
     */
    public static int encodeDeny(
            PacketMemory m,
            int at,
            int txTime,
            int srcCtx,
            long nonce,
            DenyReason reason,
            boolean earlyDone,
            int versionMask,
            long retryAfterUs,
            long cookie,
            byte[] privateData) {
        encodeStart(m, at, ControlOpcode.DENY, srcCtx, txTime, nonce);
        m.put8(at + DENY_REASON_AT, reason.code());
        int flags = earlyDone ? GrantFields.FLAG_EARLY_DONE : 0;
        m.put8(at + DENY_FLAGS_LENGTH_AT, flags | privateData.length);
        m.put16(at + DENY_VERSION_MASK_AT, versionMask);
        m.put32(at + DENY_RETRY_AFTER_AT, (int) retryAfterUs);
        m.put64(at + DENY_COOKIE_AT, cookie);
        //= MR-3.9-1
        m.bytes().put(at + DENY_PRIVATE_AT, privateData);
        return finish(m, at, denyBytes(privateData.length));
    }

    // RELEASE and RELEASE_ACK

    /** Id of the endpoint that gives the lease back. */
    public static long releaseEndpointId(PacketMemory m, int at) {
        return m.i64(at + RELEASE_ENDPOINT_ID_AT);
    }

    /** Number of paths named, 0..255. */
    public static int releasePathCount(PacketMemory m, int at) {
        return m.u8(at + RELEASE_PATH_COUNT_AT);
    }

    /** The next sequence number of a path named. */
    public static int releaseFinalPsn(PacketMemory m, int at, int path) {
        return m.i32(at + RELEASE_FINAL_PSN_AT + path * Integer.BYTES);
    }

    /**
     * Writes a whole RELEASE and returns its bytes.
     *
     * @param finalPsn next sequence number per path
     * @param paths paths to name, 0..255
     */
    public static int encodeRelease(
            PacketMemory m,
            int at,
            int txTime,
            int token,
            long nonce,
            long endpointId,
            int srcCtx,
            int[] finalPsn,
            int paths) {
        Invariant.check(
                paths >= 0 && paths <= MAX_RELEASE_PATHS,
                "RELEASE can name its paths",
                paths,
                MAX_RELEASE_PATHS);
        encodeStart(m, at, ControlOpcode.RELEASE, token, txTime, nonce);
        m.put64(at + RELEASE_ENDPOINT_ID_AT, endpointId);
        m.put8(at + RELEASE_RESERVED_AT, 0);
        m.put8(at + RELEASE_PATH_COUNT_AT, paths);
        m.put16(at + RELEASE_SRC_CTX_AT, srcCtx);
        for (int path = 0; path < paths; path++) {
            m.put32(at + RELEASE_FINAL_PSN_AT + path * Integer.BYTES, finalPsn[path]);
        }
        return finish(m, at, releaseBytes(paths));
    }

    /** Writes a whole RELEASE_ACK and returns its bytes. */
    public static int encodeReleaseAck(
            PacketMemory m, int at, int txTime, int srcCtx, long nonce, int cid, int epoch) {
        encodeStart(m, at, ControlOpcode.RELEASE_ACK, srcCtx, txTime, nonce);
        encodeLease(m, at, cid, epoch);
        return finish(m, at, bytes(ControlOpcode.RELEASE_ACK));
    }

    // RELEASE_ACK, RECLAIM and KEEPALIVE name their lease at the same place.

    /** Context id in RELEASE_ACK, RECLAIM and KEEPALIVE, 0..255. */
    public static int leaseCid(PacketMemory m, int at) {
        return m.u8(at + LEASE_CID_AT);
    }

    /** Epoch in RELEASE_ACK, RECLAIM and KEEPALIVE, 0..255. */
    public static int leaseEpoch(PacketMemory m, int at) {
        return m.u8(at + LEASE_EPOCH_AT);
    }

    // RECLAIM

    /** Code of a {@link ReclaimReason}. */
    public static int reclaimReason(PacketMemory m, int at) {
        return m.u8(at + RECLAIM_REASON_AT);
    }

    /** Time from sending until the lease is taken by force, 0..2^32-1 us. */
    public static long reclaimDeadlineUs(PacketMemory m, int at) {
        return m.u32(at + RECLAIM_DEADLINE_AT);
    }

    /** Writes a whole RECLAIM and returns its bytes. */
    public static int encodeReclaim(
            PacketMemory m,
            int at,
            int txTime,
            int srcCtx,
            long nonce,
            int cid,
            int epoch,
            ReclaimReason reason,
            long deadlineUs) {
        encodeStart(m, at, ControlOpcode.RECLAIM, srcCtx, txTime, nonce);
        m.put8(at + LEASE_CID_AT, cid);
        m.put8(at + LEASE_EPOCH_AT, epoch);
        m.put8(at + RECLAIM_REASON_AT, reason.code());
        m.put8(at + RECLAIM_RESERVED_AT, 0);
        m.put32(at + RECLAIM_DEADLINE_AT, (int) deadlineUs);
        return finish(m, at, bytes(ControlOpcode.RECLAIM));
    }

    // KEEPALIVE and KEEPALIVE_ACK

    /** Writes a whole KEEPALIVE and returns its bytes. */
    public static int encodeKeepalive(
            PacketMemory m, int at, int txTime, int srcCtx, long nonce, int cid, int epoch) {
        encodeStart(m, at, ControlOpcode.KEEPALIVE, srcCtx, txTime, nonce);
        encodeLease(m, at, cid, epoch);
        return finish(m, at, bytes(ControlOpcode.KEEPALIVE));
    }

    /** Id of the endpoint that holds the lease. */
    public static long keepaliveAckEndpointId(PacketMemory m, int at) {
        return m.i64(at + KEEPALIVE_ACK_ENDPOINT_ID_AT);
    }

    /** Writes a whole KEEPALIVE_ACK and returns its bytes. */
    public static int encodeKeepaliveAck(
            PacketMemory m, int at, int txTime, int token, long nonce, long endpointId) {
        encodeStart(m, at, ControlOpcode.KEEPALIVE_ACK, token, txTime, nonce);
        m.put64(at + KEEPALIVE_ACK_ENDPOINT_ID_AT, endpointId);
        return finish(m, at, bytes(ControlOpcode.KEEPALIVE_ACK));
    }

    // RESET

    /** Code of a {@link ResetReason}. */
    public static int resetReason(PacketMemory m, int at) {
        return m.u8(at + RESET_REASON_AT);
    }

    /** Context id that was refused, 0..255. */
    public static int resetCid(PacketMemory m, int at) {
        return m.u8(at + RESET_CID_AT);
    }

    /** Epoch that was refused, 0..255. */
    public static int resetEpoch(PacketMemory m, int at) {
        return m.u8(at + RESET_EPOCH_AT);
    }

    /** Random id of the refusing process's run. */
    public static int resetIncarnation(PacketMemory m, int at) {
        return m.i32(at + RESET_INCARNATION_AT);
    }

    /** Writes a whole RESET and returns its bytes. */
    public static int encodeReset(
            PacketMemory m,
            int at,
            int txTime,
            long proof,
            ResetReason reason,
            int cid,
            int epoch,
            int incarnation) {
        //= MR-2.2-7, MR-2.6-8
        encodeStart(m, at, ControlOpcode.RESET, 0, txTime, proof);
        m.put8(at + RESET_REASON_AT, reason.code());
        m.put8(at + RESET_RESERVED_AT, 0);
        m.put8(at + RESET_CID_AT, cid);
        m.put8(at + RESET_EPOCH_AT, epoch);
        m.put32(at + RESET_INCARNATION_AT, incarnation);
        return finish(m, at, bytes(ControlOpcode.RESET));
    }

    // DISCONNECT and DISCONNECT_ACK

    public static long disconnectEndpointId(PacketMemory m, int at) {
        return m.i64(at + DISCONNECT_ENDPOINT_ID_AT);
    }

    public static long disconnectConnectionId(PacketMemory m, int at) {
        return m.i64(at + DISCONNECT_CONNECTION_ID_AT);
    }

    /** True when the sender dialled the connection. */
    public static boolean disconnectFromDialer(PacketMemory m, int at) {
        return m.u8(at + DISCONNECT_ROLE_AT) != 0;
    }

    /** Source context at the sender of a RELEASE: where its RELEASE_ACK goes. */
    public static int releaseSrcCtx(PacketMemory m, int at) {
        return m.u16(at + RELEASE_SRC_CTX_AT);
    }

    /** Writes a DISCONNECT; its common header carries the sender's own source context. */
    public static int encodeDisconnect(
            PacketMemory m,
            int at,
            int txTime,
            int srcCtx,
            long nonce,
            long endpointId,
            long connectionId,
            boolean fromDialer) {
        //= MR-2.2-7
        encodeStart(m, at, ControlOpcode.DISCONNECT, srcCtx, txTime, nonce);
        m.put64(at + DISCONNECT_ENDPOINT_ID_AT, endpointId);
        m.put64(at + DISCONNECT_CONNECTION_ID_AT, connectionId);
        m.put32(at + DISCONNECT_ROLE_AT, fromDialer ? 1 << 24 : 0);
        return finish(m, at, bytes(ControlOpcode.DISCONNECT));
    }

    public static int encodeDisconnectAck(
            PacketMemory m, int at, int txTime, int srcCtx, long nonce) {
        encodeStart(m, at, ControlOpcode.DISCONNECT_ACK, srcCtx, txTime, nonce);
        return finish(m, at, bytes(ControlOpcode.DISCONNECT_ACK));
    }

    /**
     * Checks opcode, size, private data length and that reasons and profile are known.
     *
     * @param totalBytes bytes of the packet with its checksum and with a payload that is elided, at
     *     least 20 of them not elided
     */
    public static boolean wellFormed(PacketMemory m, int at, int totalBytes) {
        ControlOpcode opcode = ControlOpcode.of(CommonHeader.opcode(m, at));
        int elided = m.elidedBytes();
        //= MR-2.6-1
        //= MR-2.6-3
        if (opcode == null || totalBytes - elided < bytes(opcode)) {
            return false;
        }
        if (opcode == ControlOpcode.REQUEST && EarlyMessage.isIn(m, at)) {
            return EarlyMessage.wellFormed(m, at, totalBytes) && valuesKnown(m, at, opcode);
        }
        int expected =
                switch (opcode) {
                    case REQUEST ->
                            REQUEST_BYTES
                                    + AddressList.bytes(m.u8(at + RequestFields.ADDRESS_COUNT_AT));
                    case GRANT -> GRANT_BYTES + AddressList.bytes(GrantFields.addressCount(m, at));
                    case RELEASE -> releaseBytes(releasePathCount(m, at));
                    case DENY -> denyBytes(denyPrivateLength(m, at));
                    default -> bytes(opcode);
                };
        return elided == 0 && totalBytes == expected && valuesKnown(m, at, opcode);
    }

    private static boolean valuesKnown(PacketMemory m, int at, ControlOpcode opcode) {
        //= MR-2.6-5
        //= MR-2.6-6
        return switch (opcode) {
            case REQUEST -> {
                int both = RequestFields.FLAG_CONNECT | RequestFields.FLAG_EARLY;
                //= MR-3.7-4
                int flags = m.u8(at + RequestFields.FLAGS_AT) & both;
                int addresses = m.u8(at + RequestFields.ADDRESS_COUNT_AT);
                //= MR-3.10-1
                yield m.u16(at + RequestFields.PRIVATE_LENGTH_AT) <= MAX_PRIVATE_BYTES
                        && flags != both
                        && AddressList.isLength(addresses)
                        && (addresses == 0 || flags == RequestFields.FLAG_CONNECT);
            }
            case GRANT ->
                    m.u16(at + GrantFields.PRIVATE_LENGTH_AT) <= MAX_PRIVATE_BYTES
                            && AddressList.isLength(GrantFields.addressCount(m, at))
                            && m.u8(at + GrantFields.PATHS_AT) >= 1
                            && Profile.of(m.u8(at + GrantFields.PROFILE_AT)) != null;
            case DENY ->
                    denyPrivateLength(m, at) <= MAX_PRIVATE_BYTES
                            && DenyReason.of(denyReason(m, at)) != null;
            case RECLAIM -> ReclaimReason.of(reclaimReason(m, at)) != null;
            case RESET -> ResetReason.of(resetReason(m, at)) != null;
            case QUEUED,
                    RELEASE,
                    RELEASE_ACK,
                    KEEPALIVE,
                    KEEPALIVE_ACK,
                    DISCONNECT,
                    DISCONNECT_ACK ->
                    true;
        };
    }

    static void readPrivate(PacketMemory m, int at, byte[] data, int length) {
        //= MR-2.6-7
        m.bytes().get(at, data, 0, length);
    }

    static void writePrivate(PacketMemory m, int at, byte[] data, int length) {
        m.bytes().put(at, data, 0, length);
        for (int i = length; i < MAX_PRIVATE_BYTES; i++) {
            m.put8(at + i, 0);
        }
    }

    private static void encodeLease(PacketMemory m, int at, int cid, int epoch) {
        m.put8(at + LEASE_CID_AT, cid);
        m.put8(at + LEASE_EPOCH_AT, epoch);
        m.put16(at + LEASE_RESERVED_AT, 0);
    }

    private static void encodeStart(
            PacketMemory m, int at, ControlOpcode opcode, int ctx, int txTime, long nonce) {
        //= MR-2.2-8
        CommonHeader.encode(m, at, PacketType.CTRL.code(), 0, ctx, 0, opcode.code(), 0, 0, txTime);
        m.put64(at + NONCE_AT, nonce);
    }

    private static int finish(PacketMemory m, int at, int totalBytes) {
        CommonHeader.seal(m, at, totalBytes - CommonHeader.TRAILER_BYTES);
        return totalBytes;
    }
}
