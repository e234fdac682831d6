package dev.metaroce.wire;

/**
 * ACK packets: a block about the lease, then one record per path with news, each followed by a
 * selective acknowledgement when its path has a hole.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                            RxUnits                            |  lease block
 *     +-----------------------------------------------+---------------+
 *  20 |                   RateHint                    |    HintSeq    |
 *     +-------------------------------+---------------+---------------+
 *  24 |            Window             |   PoolLoad    |     Count     |
 *     +---------------+---------------+---------------+---------------+
 *  28 |      CID      |     Epoch     |           reserved            |
 *     +---------------+---------------+-------------------------------+
 *  +0 |     Path      |    RFlags     |           AckDelay            |  record, Count times
 *     +---------------+---------------+-------------------------------+
 *  +4 |                            CumPSN                             |
 *     +---------------------------------------------------------------+
 *  +8 |                           EchoTime                            |
 *     +---------------------------------------------------------------+
 * +12 |                           CePackets                           |
 *     +---------------------------------------------------------------+
 * +16 |       SACK word 0: bit i says that CumPSN + 1 + i came        |  only with
 *     |                                                               |  RFlags SACK
 *     +---------------------------------------------------------------+
 *     |                         SACK words 1..3                      ...
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>Methods on the lease block take the offset of the packet, methods on a record take the offset
 * of the record in the memory. Writing, and reading, go front to back:
 *
 * <pre>{@code
 * int record = AckHeader.firstRecord(at);
 * for (int i = 0; i < AckHeader.count(m, at); i++) {
 *     onRecord(AckHeader.path(m, record), AckHeader.cumPsn(m, record));
 *     record = AckHeader.nextRecord(m, record);
 * }
 * }</pre>
 */
public final class AckHeader {
    /** Bytes of the lease block. */
    public static final int LEASE_BYTES = 16;

    /** Bytes of a record without its SACK. */
    public static final int RECORD_BYTES = 16;

    /** Bytes of a SACK. */
    public static final int SACK_BYTES = 32;

    /** The most records one packet can announce. */
    public static final int MAX_RECORDS = 255;

    /** Record flag: a SACK follows. */
    public static final int RFLAG_SACK = 0x80;

    /** Record flag: the last packets of this path carried a congestion mark. */
    public static final int RFLAG_CE = 0x40;

    /** Record flag: this record answers a probe. */
    public static final int RFLAG_PROBE_REPLY = 0x20;

    /** Payload bytes in one step of {@link #rxUnits}. */
    public static final int RX_UNIT_BYTES = 256;

    /** One step of {@link #ackDelay}. */
    public static final int ACK_DELAY_UNIT_NS = 64;

    /** Longest {@link #ackDelay} that can be told; it stands for all longer ones. */
    public static final int ACK_DELAY_MAX = 0xFFFF;

    /** Rate hint: pause, and probe until told otherwise. */
    public static final int RATE_PAUSE = 0;

    /** Rate hint: the receiver gives none. */
    public static final int RATE_NONE = 0xFF_FFFF;

    /** Window: the receiver sets no limit. */
    public static final int WINDOW_NONE = 0xFFFF;

    /** Pool load: no context id is free. */
    public static final int POOL_EXHAUSTED = 255;

    static final int RX_UNITS_AT = 16;
    static final int RATE_HINT_AT = 20;
    static final int WINDOW_AT = 24;
    static final int POOL_LOAD_AT = 26;
    static final int COUNT_AT = 27;
    static final int CID_AT = 28;
    static final int EPOCH_AT = 29;
    static final int RESERVED_AT = 30;
    static final int RECORDS_AT = 32;

    static final int R_PATH_AT = 0;
    static final int R_FLAGS_AT = 1;
    static final int R_ACK_DELAY_AT = 2;
    static final int R_CUM_PSN_AT = 4;
    static final int R_ECHO_TIME_AT = 8;
    static final int R_CE_PACKETS_AT = 12;
    static final int R_SACK_AT = 16;

    private static final int SACK_WORDS = SACK_BYTES / Long.BYTES;
    private static final int ACK_DELAY_SHIFT = 6;

    private AckHeader() {}

    /** Payload bytes accepted under the lease in steps of 256, cumulative modulo 2^32. */
    public static int rxUnits(PacketMemory m, int at) {
        return m.i32(at + RX_UNITS_AT);
    }

    /**
     * Writes a hint.
     *
     * @param mbps fair share in Mb/s, {@link #RATE_PAUSE} or {@link #RATE_NONE}
     */
    public static void putHint(PacketMemory m, int at, int mbps, int seq) {
        m.put32(at + RATE_HINT_AT, (mbps << 8) | (seq & 0xFF));
    }

    /** Fair share in Mb/s, {@link #RATE_PAUSE} or {@link #RATE_NONE}. */
    public static int rateHint(PacketMemory m, int at) {
        return m.i32(at + RATE_HINT_AT) >>> 8;
    }

    /** Number of the hint, 0..255 and around; it moves when the hint changes. */
    public static int hintSeq(PacketMemory m, int at) {
        return m.i32(at + RATE_HINT_AT) & 0xFF;
    }

    /** Bytes the lease may have in flight, in KiB, or {@link #WINDOW_NONE}. */
    public static int window(PacketMemory m, int at) {
        return m.u16(at + WINDOW_AT);
    }

    /** Use of the pool of context ids, 0..254, or {@link #POOL_EXHAUSTED}. */
    public static int poolLoad(PacketMemory m, int at) {
        return m.u8(at + POOL_LOAD_AT);
    }

    /** Number of records, 0..255. */
    public static int count(PacketMemory m, int at) {
        return m.u8(at + COUNT_AT);
    }

    /** Context id of the lease, 0..255. */
    public static int cid(PacketMemory m, int at) {
        return m.u8(at + CID_AT);
    }

    /** Epoch of the lease, 0..255. */
    public static int epoch(PacketMemory m, int at) {
        return m.u8(at + EPOCH_AT);
    }

    /** Writes the lease block, 16 bytes. */
    public static void encodeLease(
            PacketMemory m,
            int at,
            int rxUnits,
            int rateHint,
            int hintSeq,
            int window,
            int poolLoad,
            int count,
            int cid,
            int epoch) {
        m.put32(at + RX_UNITS_AT, rxUnits);
        putHint(m, at, rateHint, hintSeq);
        m.put16(at + WINDOW_AT, window);
        m.put8(at + POOL_LOAD_AT, poolLoad);
        m.put8(at + COUNT_AT, count);
        m.put8(at + CID_AT, cid);
        m.put8(at + EPOCH_AT, epoch);
        //= MR-2.1-5
        m.put16(at + RESERVED_AT, 0);
    }

    /** Offset in the memory of the first record. */
    public static int firstRecord(int at) {
        return at + RECORDS_AT;
    }

    /** Offset in the memory of the record behind this one and its SACK. */
    public static int nextRecord(PacketMemory m, int recordAt) {
        //= MR-2.4-6
        return recordAt + RECORD_BYTES + (hasSack(m, recordAt) ? SACK_BYTES : 0);
    }

    /** Path of the record, 0..255. */
    public static int path(PacketMemory m, int recordAt) {
        return m.u8(recordAt + R_PATH_AT);
    }

    /** Bits of the RFLAG constants, 0..255. */
    public static int recordFlags(PacketMemory m, int recordAt) {
        return m.u8(recordAt + R_FLAGS_AT);
    }

    public static boolean hasSack(PacketMemory m, int recordAt) {
        return (recordFlags(m, recordAt) & RFLAG_SACK) != 0;
    }

    /** How long the receiver held the echoed time, in steps of {@link #ACK_DELAY_UNIT_NS}. */
    public static int ackDelay(PacketMemory m, int recordAt) {
        return m.u16(recordAt + R_ACK_DELAY_AT);
    }

    /** The next sequence number the receiver expects: all before it came. */
    public static int cumPsn(PacketMemory m, int recordAt) {
        return m.i32(recordAt + R_CUM_PSN_AT);
    }

    /** TxTime of the packet that this record answers. */
    public static int echoTime(PacketMemory m, int recordAt) {
        return m.i32(recordAt + R_ECHO_TIME_AT);
    }

    /** Packets of this path that came with a congestion mark, cumulative modulo 2^32. */
    public static int cePackets(PacketMemory m, int recordAt) {
        return m.i32(recordAt + R_CE_PACKETS_AT);
    }

    /** Offset in the memory of the record's SACK. */
    public static int sackAt(int recordAt) {
        return recordAt + R_SACK_AT;
    }

    /** Copies a SACK into four words from {@code base}, as {@code WindowBitmap} keeps them. */
    public static void readSack(PacketMemory m, int sackAt, long[] words, int base) {
        //= MR-2.4-8
        for (int i = 0; i < SACK_WORDS; i++) {
            words[base + i] = m.i64(sackAt + i * Long.BYTES);
        }
    }

    /**
     * A delay as it goes into {@link #ackDelay}; longer ones become the longest, negative ones 0.
     */
    public static int toAckDelay(long delayNs) {
        //= MR-2.4-7
        return Math.clamp(delayNs >> ACK_DELAY_SHIFT, 0, ACK_DELAY_MAX);
    }

    /**
     * Writes a record, 16 bytes.
     *
     * @param ackDelay steps of {@link #ACK_DELAY_UNIT_NS}, 0..65535; see {@link #toAckDelay}
     * @return the offset behind it, where its SACK goes when {@code rflags} has {@link #RFLAG_SACK}
     */
    public static int putRecord(
            PacketMemory m,
            int recordAt,
            int path,
            int rflags,
            int ackDelay,
            int cumPsn,
            int echoTime,
            int cePackets) {
        m.put8(recordAt + R_PATH_AT, path);
        m.put8(recordAt + R_FLAGS_AT, rflags);
        m.put16(recordAt + R_ACK_DELAY_AT, ackDelay);
        m.put32(recordAt + R_CUM_PSN_AT, cumPsn);
        m.put32(recordAt + R_ECHO_TIME_AT, echoTime);
        m.put32(recordAt + R_CE_PACKETS_AT, cePackets);
        return recordAt + RECORD_BYTES;
    }

    /**
     * Writes a SACK, 32 bytes, from four words kept as {@code WindowBitmap} does.
     *
     * @return the offset behind it
     */
    public static int putSack(PacketMemory m, int sackAt, long[] words, int base) {
        //= MR-2.4-8
        for (int i = 0; i < SACK_WORDS; i++) {
            m.put64(sackAt + i * Long.BYTES, words[base + i]);
        }
        return sackAt + SACK_BYTES;
    }

    /**
     * True when the records announced, with their SACKs, end exactly at the checksum.
     *
     * @param totalBytes bytes of the packet with its checksum, at least 20
     */
    public static boolean wellFormed(PacketMemory m, int at, int totalBytes) {
        int end = at + totalBytes - CommonHeader.TRAILER_BYTES;
        int record = firstRecord(at);
        //= MR-2.4-1
        if (record > end || CommonHeader.opcode(m, at) != 0) {
            return false;
        }
        //= MR-2.4-5
        int count = count(m, at);
        for (int i = 0; i < count; i++) {
            if (record + RECORD_BYTES > end) {
                return false;
            }
            record = nextRecord(m, record);
        }
        return record == end;
    }
}
