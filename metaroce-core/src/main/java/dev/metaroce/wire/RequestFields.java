package dev.metaroce.wire;

/**
 * What a REQUEST says, to be filled, written, read and used again. Written by the initiator, read
 * by the target; owned by the thread of the engine that holds it. Reading overwrites every field.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                          Nonce (64)                           |
 *     +---------------------------------------------------------------+
 *  24 |                        EndpointId (64)                        |
 *     +---------------------------------------------------------------+
 *  32 |                       ConnectionId (64)                       |
 *     +---------------------------------------------------------------+
 *  40 |                        ServiceId (64)                         |
 *     +---------------------------------------------------------------+
 *  48 |                          Incarnation                          |
 *     +-------------------------------+-------------------------------+
 *  52 |            SrcCtx             |              Mtu              |
 *     +---------------+---------------+-------------------------------+
 *  56 |  ProfileMask  |   MaxPaths    |          VersionMask          |
 *     +---------------+---------------+-------------------------------+
 *  60 |                            Demand                             |
 *     +---------------+---------------+-------------------------------+
 *  64 |   Priority    |     Flags     |         PrivateLength         |
 *     +---------------+---------------+-------------------------------+
 *  68 | AddressCount  |                   reserved                    |
 *     +---------------------------------------------------------------+
 *  72 |                          Cookie (64)                          |
 *     +---------------------------------------------------------------+
 *  80 |                   private data (64 bytes)                    ...
 *     +---------------------------------------------------------------+
 * 144 |                      zeros (48 bytes)                        ...
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>With {@link #FLAG_EARLY} an {@link EarlyMessage} follows, with {@link #FLAG_CONNECT} as many
 * addresses as AddressCount says ({@link AddressList}).
 */
public final class RequestFields {
    /** Flag: the first lease of its connection; private data counts. */
    public static final int FLAG_CONNECT = 0x80;

    /** Flag: asked by the side that accepted the connection, for its own direction. */
    public static final int FLAG_ACCEPTOR = 0x40;

    /** Flag: a message follows, as {@link EarlyMessage} says. */
    public static final int FLAG_EARLY = 0x20;

    static final int ENDPOINT_ID_AT = 24;
    static final int CONNECTION_ID_AT = 32;
    static final int SERVICE_ID_AT = 40;
    static final int INCARNATION_AT = 48;
    static final int SRC_CTX_AT = 52;
    static final int MTU_AT = 54;
    static final int PROFILE_MASK_AT = 56;
    static final int MAX_PATHS_AT = 57;
    static final int VERSION_MASK_AT = 58;
    static final int DEMAND_AT = 60;
    static final int PRIORITY_AT = 64;
    static final int FLAGS_AT = 65;
    static final int PRIVATE_LENGTH_AT = 66;
    static final int ADDRESS_COUNT_AT = 68;
    static final int COOKIE_AT = 72;
    static final int PRIVATE_DATA_AT = 80;
    static final int PADDING_AT = 144;
    static final int END_AT = 192;

    /** Number of the request; grows with every request of an endpoint. */
    public long nonce;

    /** Random id of the asking endpoint. */
    public long endpointId;

    /** Connection the lease is for. */
    public long connectionId;

    /** Service asked for; counts with {@link #FLAG_CONNECT}. */
    public long serviceId;

    /** Random id of the asking process's run. */
    public int incarnation;

    /** Where answers go at the initiator, 0..65535. */
    public int srcCtx;

    /** Largest payload of a packet the initiator can take and send, 0..65535 bytes. */
    public int mtu;

    /** Bit set of {@link Profile} codes. */
    public int profileMask;

    /** Most paths the initiator wants, 0..255. */
    public int maxPaths;

    /** Bit v says that the initiator speaks wire version v. */
    public int versionMask;

    /** Bytes waiting to be sent, 0..2^32-1 KiB. */
    public long demandKib;

    /** Service class, 0..255; larger is more urgent. */
    public int priority;

    /** Bits of the FLAG constants, 0..255. */
    public int flags;

    /** Cookie of an earlier DENY, else 0. */
    public long cookie;

    /** Bytes used in {@link #privateData}, 0..64. */
    public int privateLength;

    /** Data for the service; bytes past {@link #privateLength} do not matter. */
    public final byte[] privateData = new byte[ControlMessage.MAX_PRIVATE_BYTES];

    /** All addresses of the initiator when it has several; only with {@link #FLAG_CONNECT}. */
    public NetAddress[] addresses = AddressList.NONE;

    /** The source context alone, of a REQUEST of any version. */
    public static int srcCtx(PacketMemory m, int at) {
        return m.u16(at + SRC_CTX_AT);
    }

    /** Takes every field from a well-formed REQUEST. */
    public void read(PacketMemory m, int at) {
        nonce = ControlMessage.nonce(m, at);
        endpointId = m.i64(at + ENDPOINT_ID_AT);
        connectionId = m.i64(at + CONNECTION_ID_AT);
        serviceId = m.i64(at + SERVICE_ID_AT);
        incarnation = m.i32(at + INCARNATION_AT);
        srcCtx = m.u16(at + SRC_CTX_AT);
        mtu = m.u16(at + MTU_AT);
        profileMask = m.u8(at + PROFILE_MASK_AT);
        maxPaths = m.u8(at + MAX_PATHS_AT);
        versionMask = m.u16(at + VERSION_MASK_AT);
        demandKib = m.u32(at + DEMAND_AT);
        priority = m.u8(at + PRIORITY_AT);
        flags = m.u8(at + FLAGS_AT);
        cookie = m.i64(at + COOKIE_AT);
        privateLength = m.u16(at + PRIVATE_LENGTH_AT);
        ControlMessage.readPrivate(m, at + PRIVATE_DATA_AT, privateData, privateLength);
        addresses = AddressList.read(m, at + END_AT, m.u8(at + ADDRESS_COUNT_AT));
    }

    /** Writes all behind the common header but the checksum. */
    public void write(PacketMemory m, int at) {
        m.put64(at + ControlMessage.NONCE_AT, nonce);
        m.put64(at + ENDPOINT_ID_AT, endpointId);
        m.put64(at + CONNECTION_ID_AT, connectionId);
        m.put64(at + SERVICE_ID_AT, serviceId);
        m.put32(at + INCARNATION_AT, incarnation);
        m.put16(at + SRC_CTX_AT, srcCtx);
        m.put16(at + MTU_AT, mtu);
        m.put8(at + PROFILE_MASK_AT, profileMask);
        m.put8(at + MAX_PATHS_AT, maxPaths);
        m.put16(at + VERSION_MASK_AT, versionMask);
        m.put32(at + DEMAND_AT, (int) demandKib);
        m.put8(at + PRIORITY_AT, priority);
        m.put8(at + FLAGS_AT, flags);
        m.put16(at + PRIVATE_LENGTH_AT, privateLength);
        m.put32(at + ADDRESS_COUNT_AT, addresses.length << 24);
        m.put64(at + COOKIE_AT, cookie);
        ControlMessage.writePrivate(m, at + PRIVATE_DATA_AT, privateData, privateLength);
        //= MR-2.6-4
        for (int i = PADDING_AT; i < END_AT; i += Long.BYTES) {
            m.put64(at + i, 0);
        }
        AddressList.write(m, at + END_AT, addresses);
    }
}
