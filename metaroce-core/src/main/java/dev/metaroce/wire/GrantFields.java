package dev.metaroce.wire;

/**
 * What a GRANT says, to be filled, written, read and used again. Written by the target, read by the
 * initiator; owned by the thread of the engine that holds it. Reading overwrites every field.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                          Nonce (64)                           |
 *     +---------------------------------------------------------------+
 *  24 |                        EndpointId (64)                        |
 *     +---------------------------------------------------------------+
 *  32 |                          Incarnation                          |
 *     +---------------------------------------------------------------+
 *  36 |                          InitialPsn                           |
 *     +---------------+---------------+---------------+---------------+
 *  40 |      CID      |     Epoch     |    Profile    |     Paths     |
 *     +---------------+---------------+---------------+---------------+
 *  44 |              Mtu              |            Window             |
 *     +-------------------------------+-------------------------------+
 *  48 |                             Quota                             |
 *     +---------------------------------------------------------------+
 *  52 |                           QuotaTime                           |
 *     +---------------------------------------------------------------+
 *  56 |                           IdleTime                            |
 *     +-----------------------------------------------+---------------+
 *  60 |                   RateHint                    |    HintSeq    |
 *     +-------------------------------+---------------+---------------+
 *  64 |         OpenMessages          |         PrivateLength         |
 *     +-------------------------------+-------------------------------+
 *  68 |           MaxReads            | Flags | AddrCt|   PoolLoad    |
 *     +-------------------------------+---------------+---------------+
 *  72 |                       ConnectionId (64)                       |
 *     +---------------------------------------------------------------+
 *  80 |                   private data (64 bytes)                    ...
 *     +---------------------------------------------------------------+
 * 144 |            as many addresses as AddrCt says                  ...
 *     +---------------------------------------------------------------+
 * </pre>
 */
public final class GrantFields {
    /** Flag: the message that rode in the REQUEST was executed. */
    public static final int FLAG_EARLY_DONE = 0x80;

    static final int ENDPOINT_ID_AT = 24;
    static final int INCARNATION_AT = 32;
    static final int INITIAL_PSN_AT = 36;
    static final int CID_AT = 40;
    static final int EPOCH_AT = 41;
    static final int PROFILE_AT = 42;
    static final int PATHS_AT = 43;
    static final int MTU_AT = 44;
    static final int WINDOW_AT = 46;
    static final int QUOTA_AT = 48;
    static final int QUOTA_TIME_AT = 52;
    static final int IDLE_TIME_AT = 56;
    static final int RATE_HINT_AT = 60;
    static final int OPEN_MESSAGES_AT = 64;
    static final int PRIVATE_LENGTH_AT = 66;
    static final int MAX_READS_AT = 68;
    static final int FLAGS_AT = 70;
    static final int POOL_LOAD_AT = 71;
    static final int CONNECTION_ID_AT = 72;
    static final int PRIVATE_DATA_AT = 80;
    static final int END_AT = 144;
    private static final int ADDRESS_COUNT_MASK = 0x0F;

    /** Source context of the asking initiator, 0..65535; the Ctx of the packet. */
    public int srcCtx;

    /** Nonce of the request granted. */
    public long nonce;

    /** Random id of the granting endpoint. */
    public long endpointId;

    /** Random id of the granting process's run. */
    public int incarnation;

    /** First sequence number of every path. */
    public int initialPsn;

    /** Context id leased, 0..255. */
    public int cid;

    /** Epoch of the lease, 0..255. */
    public int epoch;

    /** Code of the {@link Profile} chosen. */
    public int profile;

    /** Paths granted, 1..255. */
    public int paths;

    /** Largest payload of a packet under this lease, 0..65535 bytes. */
    public int mtu;

    /** Bytes that may be in flight, in KiB; 0xFFFF for no limit. */
    public int windowKib;

    /** Bytes the lease may carry while others wait, 0..2^32-1 KiB. */
    public long quotaKib;

    /** Time the lease may last while others wait, 0..2^32-1 us. */
    public long quotaTimeUs;

    /** Idle time after which the lease goes back, 0..2^32-1 us. */
    public long idleTimeUs;

    /** First rate hint in Mb/s, or {@link AckHeader#RATE_PAUSE} or {@link AckHeader#RATE_NONE}. */
    public int rateHint;

    /** Number of the rate hint, 0..255. */
    public int hintSeq;

    /** Messages of more than one packet that may be open at once, 0..65535. */
    public int openMessages;

    /** Reads and atomics that may be outstanding at once, 0..65535. */
    public int maxReads;

    /** Bits of the FLAG constants, 0..240. */
    public int flags;

    /** Use of the pool as in an ACK; counts with {@link #FLAG_EARLY_DONE}. */
    public int poolLoad;

    /** Connection the lease is for. */
    public long connectionId;

    /** Bytes used in {@link #privateData}, 0..64. */
    public int privateLength;

    /** Answer of the service; bytes past {@link #privateLength} do not matter. */
    public final byte[] privateData = new byte[ControlMessage.MAX_PRIVATE_BYTES];

    /** All addresses of the target when it has several. */
    public NetAddress[] addresses = AddressList.NONE;

    static int addressCount(PacketMemory m, int at) {
        return m.u8(at + FLAGS_AT) & ADDRESS_COUNT_MASK;
    }

    /** Takes every field from a well-formed GRANT. */
    public void read(PacketMemory m, int at) {
        srcCtx = CommonHeader.ctx(m, at);
        nonce = ControlMessage.nonce(m, at);
        endpointId = m.i64(at + ENDPOINT_ID_AT);
        incarnation = m.i32(at + INCARNATION_AT);
        initialPsn = m.i32(at + INITIAL_PSN_AT);
        cid = m.u8(at + CID_AT);
        epoch = m.u8(at + EPOCH_AT);
        profile = m.u8(at + PROFILE_AT);
        paths = m.u8(at + PATHS_AT);
        mtu = m.u16(at + MTU_AT);
        windowKib = m.u16(at + WINDOW_AT);
        quotaKib = m.u32(at + QUOTA_AT);
        quotaTimeUs = m.u32(at + QUOTA_TIME_AT);
        idleTimeUs = m.u32(at + IDLE_TIME_AT);
        rateHint = m.i32(at + RATE_HINT_AT) >>> 8;
        hintSeq = m.i32(at + RATE_HINT_AT) & 0xFF;
        openMessages = m.u16(at + OPEN_MESSAGES_AT);
        maxReads = m.u16(at + MAX_READS_AT);
        flags = m.u8(at + FLAGS_AT) & ~ADDRESS_COUNT_MASK;
        poolLoad = m.u8(at + POOL_LOAD_AT);
        connectionId = m.i64(at + CONNECTION_ID_AT);
        privateLength = m.u16(at + PRIVATE_LENGTH_AT);
        ControlMessage.readPrivate(m, at + PRIVATE_DATA_AT, privateData, privateLength);
        addresses = AddressList.read(m, at + END_AT, addressCount(m, at));
    }

    /** Writes all behind the common header but the checksum; {@link #srcCtx} is not among it. */
    public void write(PacketMemory m, int at) {
        m.put64(at + ControlMessage.NONCE_AT, nonce);
        m.put64(at + ENDPOINT_ID_AT, endpointId);
        m.put32(at + INCARNATION_AT, incarnation);
        m.put32(at + INITIAL_PSN_AT, initialPsn);
        m.put8(at + CID_AT, cid);
        m.put8(at + EPOCH_AT, epoch);
        m.put8(at + PROFILE_AT, profile);
        m.put8(at + PATHS_AT, paths);
        m.put16(at + MTU_AT, mtu);
        m.put16(at + WINDOW_AT, windowKib);
        m.put32(at + QUOTA_AT, (int) quotaKib);
        m.put32(at + QUOTA_TIME_AT, (int) quotaTimeUs);
        m.put32(at + IDLE_TIME_AT, (int) idleTimeUs);
        putHint(m, at, rateHint, hintSeq);
        m.put16(at + OPEN_MESSAGES_AT, openMessages);
        m.put16(at + PRIVATE_LENGTH_AT, privateLength);
        m.put16(at + MAX_READS_AT, maxReads);
        m.put8(at + FLAGS_AT, flags | addresses.length);
        m.put8(at + POOL_LOAD_AT, poolLoad);
        m.put64(at + CONNECTION_ID_AT, connectionId);
        ControlMessage.writePrivate(m, at + PRIVATE_DATA_AT, privateData, privateLength);
        AddressList.write(m, at + END_AT, addresses);
    }

    /** Writes the hint of a GRANT, as {@link AckHeader#putHint} does that of an ACK. */
    public static void putHint(PacketMemory m, int at, int mbps, int seq) {
        m.put32(at + RATE_HINT_AT, (mbps << 8) | (seq & 0xFF));
    }
}
