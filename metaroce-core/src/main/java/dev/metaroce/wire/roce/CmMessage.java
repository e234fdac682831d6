package dev.metaroce.wire.roce;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import org.jspecify.annotations.Nullable;

/**
 * Messages by which queue pairs are connected: management datagrams of 256 bytes between the queue
 * pairs 1 of two hosts, as rdma_cm sends them (docs/rocev2.md, section 4). Off the hot path: a
 * message is an object. Fields that rdma_cm never uses are written as 0 and not looked at.
 *
 * <p>A starting PSN is that of the first packet which the <em>receiver</em> of the message sends.
 */
public sealed interface CmMessage {
    /** Bytes of the headers, the message and the ICRC. */
    int PACKET_BYTES = Bth.BYTES + Deth.BYTES + 256 + Icrc.BYTES;

    /** Of the class of management datagrams that these are. */
    int VERSION = 2;

    /** Private data of a REQ, of which {@link IpAddresses} may be the first 36 bytes. */
    int REQ_PRIVATE_BYTES = 92;

    /** Private data of a REP. */
    int REP_PRIVATE_BYTES = 196;

    /** Private data of a REJ. */
    int REJ_PRIVATE_BYTES = 148;

    /** Chosen by who begins the exchange; the answers have it too. */
    long transactionId();

    /** The sender's number of the connection. */
    int localId();

    /** The receiver's number of the connection, 0 when it is not known. */
    int remoteId();

    /** Writes the message behind the headers of the packet at {@code at}. */
    void encode(PacketMemory m, int at);

    /**
     * Reads the message in a packet that passed the door; null when it is none of these, or is
     * about another transport than reliable connections. Never throws.
     */
    static @Nullable CmMessage parse(PacketMemory m, int at, int bytes) {
        if (bytes != PACKET_BYTES
                || m.elidedBytes() != 0
                || Bth.opcode(m, at) != RcOpcode.UD_SEND_ONLY.code()
                || Deth.qkey(m, at) != Deth.QP1_QKEY) {
            return null;
        }
        return Mad.parse(m, at + Bth.BYTES + Deth.BYTES);
    }

    /**
     * Asks for a connection.
     *
     * @param guid of the sender's device
     * @param qpn of the sender, 24 bits
     * @param psn starting PSN, 24 bits
     * @param responderResources READs and atomics at once that the sender serves
     * @param initiatorDepth READs and atomics at once that the sender asks for
     * @param cmTimeout how long an answer may take: 4.096 us * 2^n, 5 bits
     * @param flowControl the sender uses credits
     * @param retryCount 0..7
     * @param rnrRetry 0..7
     * @param mtu code of a {@link PathMtu}, 4 bits
     * @param cmRetries how often the message is sent again, 0..15
     * @param shared receives are of a shared receive queue
     * @param local address of the sender, its port means nothing
     * @param remote address of the receiver, its port means nothing
     * @param flowLabel 20 bits
     * @param ackTimeout code of an {@link AckTimeout}
     * @param privateData of 92 bytes
     */
    record Req(
            long transactionId,
            int localId,
            long serviceId,
            long guid,
            int qpn,
            int psn,
            int responderResources,
            int initiatorDepth,
            int cmTimeout,
            boolean flowControl,
            int retryCount,
            int rnrRetry,
            int pkey,
            int mtu,
            int cmRetries,
            boolean shared,
            NetAddress local,
            NetAddress remote,
            int flowLabel,
            int trafficClass,
            int hopLimit,
            int ackTimeout,
            PrivateData privateData)
            implements CmMessage {
        @Override
        public int remoteId() {
            return 0;
        }

        @Override
        public void encode(PacketMemory m, int at) {
            int b = Mad.encode(m, at, Mad.REQ, transactionId);
            m.put32(b, localId);
            m.put64(b + 8, serviceId);
            m.put64(b + 16, guid);
            m.put32(b + 32, (qpn << 8) | responderResources);
            m.put8(b + 39, initiatorDepth);
            m.put8(b + 43, (cmTimeout << 3) | (flowControl ? 1 : 0));
            m.put32(b + 44, (psn << 8) | (cmTimeout << 3) | retryCount);
            m.put16(b + 48, pkey);
            m.put8(b + 50, (mtu << 4) | rnrRetry);
            m.put8(b + 51, (cmRetries << 4) | (shared ? 8 : 0));
            m.put32(b + 52, -1);
            Mad.putGid(m, b + 56, local);
            Mad.putGid(m, b + 72, remote);
            m.put32(b + 88, flowLabel << 12);
            m.put8(b + 92, trafficClass);
            m.put8(b + 93, hopLimit);
            m.put8(b + 95, ackTimeout << 3);
            m.bytes().put(b + Mad.REQ_PRIVATE_AT, privateData.bytes());
        }

        static @Nullable Req parse(PacketMemory m, int b, long transactionId) {
            boolean reliableConnection = (m.u8(b + 43) & 6) == 0;
            if (!reliableConnection) {
                return null;
            }
            return new Req(
                    transactionId,
                    m.i32(b),
                    m.i64(b + 8),
                    m.i64(b + 16),
                    m.i32(b + 32) >>> 8,
                    m.i32(b + 44) >>> 8,
                    m.u8(b + 35),
                    m.u8(b + 39),
                    m.u8(b + 43) >>> 3,
                    (m.u8(b + 43) & 1) != 0,
                    m.u8(b + 47) & 7,
                    m.u8(b + 50) & 7,
                    m.u16(b + 48),
                    m.u8(b + 50) >>> 4,
                    m.u8(b + 51) >>> 4,
                    (m.u8(b + 51) & 8) != 0,
                    Mad.gid(m, b + 56),
                    Mad.gid(m, b + 72),
                    m.i32(b + 88) >>> 12,
                    m.u8(b + 92),
                    m.u8(b + 93),
                    m.u8(b + 95) >>> 3,
                    Mad.privateData(m, b + Mad.REQ_PRIVATE_AT, REQ_PRIVATE_BYTES));
        }

        @Override
        public String toString() {
            return "REQ id %#x service %#x qp %#x psn %d".formatted(localId, serviceId, qpn, psn);
        }
    }

    /**
     * A REQ of another version, of which no more is read than what an answer needs.
     *
     * @param version 0..255
     */
    record OtherReq(long transactionId, int localId, int version) implements CmMessage {
        @Override
        public int remoteId() {
            return 0;
        }

        @Override
        public void encode(PacketMemory m, int at) {
            Mad.encode(m, at, Mad.REQ, this);
            m.put8(at + Bth.BYTES + Deth.BYTES + Mad.VERSION_AT, version);
        }

        @Override
        public String toString() {
            return "REQ id %#x of version %d".formatted(localId, version);
        }
    }

    /**
     * Accepts a connection.
     *
     * @param qpn of the sender, 24 bits
     * @param psn starting PSN, 24 bits
     * @param ackDelay longest time to an acknowledgement: code of an {@link AckTimeout}
     * @param flowControl the sender uses credits
     * @param privateData of 196 bytes
     */
    record Rep(
            long transactionId,
            int localId,
            int remoteId,
            int qpn,
            int psn,
            int responderResources,
            int initiatorDepth,
            int ackDelay,
            boolean flowControl,
            int rnrRetry,
            boolean shared,
            long guid,
            PrivateData privateData)
            implements CmMessage {
        @Override
        public void encode(PacketMemory m, int at) {
            int b = Mad.encode(m, at, Mad.REP, transactionId);
            m.put32(b, localId);
            m.put32(b + 4, remoteId);
            m.put32(b + 12, qpn << 8);
            m.put32(b + 20, psn << 8);
            m.put8(b + 24, responderResources);
            m.put8(b + 25, initiatorDepth);
            m.put8(b + 26, (ackDelay << 3) | (flowControl ? 1 : 0));
            m.put8(b + 27, (rnrRetry << 5) | (shared ? 16 : 0));
            m.put64(b + 28, guid);
            m.bytes().put(b + Mad.REP_PRIVATE_AT, privateData.bytes());
        }

        static Rep parse(PacketMemory m, int b, long transactionId) {
            return new Rep(
                    transactionId,
                    m.i32(b),
                    m.i32(b + 4),
                    m.i32(b + 12) >>> 8,
                    m.i32(b + 20) >>> 8,
                    m.u8(b + 24),
                    m.u8(b + 25),
                    m.u8(b + 26) >>> 3,
                    (m.u8(b + 26) & 1) != 0,
                    m.u8(b + 27) >>> 5,
                    (m.u8(b + 27) & 16) != 0,
                    m.i64(b + 28),
                    Mad.privateData(m, b + Mad.REP_PRIVATE_AT, REP_PRIVATE_BYTES));
        }

        @Override
        public String toString() {
            return "REP id %#x for %#x qp %#x psn %d".formatted(localId, remoteId, qpn, psn);
        }
    }

    /** Says that a REP arrived: the connection is there. */
    record Rtu(long transactionId, int localId, int remoteId) implements CmMessage {
        @Override
        public void encode(PacketMemory m, int at) {
            Mad.encode(m, at, Mad.RTU, this);
        }

        @Override
        public String toString() {
            return "RTU id %#x for %#x".formatted(localId, remoteId);
        }
    }

    /**
     * Refuses a connection.
     *
     * @param about what is refused: 0 a REQ, 1 a REP, 2 neither
     * @param reason code of a {@link CmReject}, or another
     * @param version with {@link CmReject#VERSION} that of the sender, if it says so; else 0
     * @param privateData of 148 bytes
     */
    record Rej(
            long transactionId,
            int localId,
            int remoteId,
            int about,
            int reason,
            int version,
            PrivateData privateData)
            implements CmMessage {
        /** {@link #about}: a REQ. */
        public static final int REQ = 0;

        /** {@link #about}: a REP. */
        public static final int REP = 1;

        @Override
        public void encode(PacketMemory m, int at) {
            int b = Mad.encode(m, at, Mad.REJ, this);
            m.put8(b + 8, about << 6);
            m.put16(b + 10, reason);
            if (version != 0) {
                m.put8(b + 9, 1 << 1);
                m.put8(b + 12, version);
            }
            m.bytes().put(b + Mad.REJ_PRIVATE_AT, privateData.bytes());
        }

        static Rej parse(PacketMemory m, int b, long transactionId) {
            int reason = m.u16(b + 10);
            boolean saysVersion = reason == CmReject.VERSION.code() && m.u8(b + 9) >>> 1 > 0;
            return new Rej(
                    transactionId,
                    m.i32(b),
                    m.i32(b + 4),
                    m.u8(b + 8) >>> 6,
                    reason,
                    saysVersion ? m.u8(b + 12) : 0,
                    Mad.privateData(m, b + Mad.REJ_PRIVATE_AT, REJ_PRIVATE_BYTES));
        }

        @Override
        public String toString() {
            return "REJ id %#x for %#x reason %d".formatted(localId, remoteId, reason);
        }
    }

    /**
     * Says that a message arrived and that its answer will take a while.
     *
     * @param about what arrived: 0 a REQ, 1 a REP
     * @param timeout how long, 4.096 us * 2^n, 5 bits
     */
    record Mra(long transactionId, int localId, int remoteId, int about, int timeout)
            implements CmMessage {
        @Override
        public void encode(PacketMemory m, int at) {
            int b = Mad.encode(m, at, Mad.MRA, this);
            m.put8(b + 8, about << 6);
            m.put8(b + 9, timeout << 3);
        }

        @Override
        public String toString() {
            return "MRA id %#x for %#x timeout %d".formatted(localId, remoteId, timeout);
        }
    }

    /**
     * Ends a connection.
     *
     * @param remoteQpn queue pair of the receiver, 24 bits
     */
    record Dreq(long transactionId, int localId, int remoteId, int remoteQpn) implements CmMessage {
        @Override
        public void encode(PacketMemory m, int at) {
            m.put32(Mad.encode(m, at, Mad.DREQ, this) + 8, remoteQpn << 8);
        }

        @Override
        public String toString() {
            return "DREQ id %#x for %#x qp %#x".formatted(localId, remoteId, remoteQpn);
        }
    }

    /** Says that a DREQ arrived. */
    record Drep(long transactionId, int localId, int remoteId) implements CmMessage {
        /** The answer to a DREQ, whether its connection is known or not. */
        public static Drep to(Dreq dreq) {
            int ours = dreq.remoteId;
            int theirs = dreq.localId;
            return new Drep(dreq.transactionId, ours, theirs);
        }

        @Override
        public void encode(PacketMemory m, int at) {
            Mad.encode(m, at, Mad.DREP, this);
        }

        @Override
        public String toString() {
            return "DREP id %#x for %#x".formatted(localId, remoteId);
        }
    }

    /**
     * What a REQ for a service of an IP port begins its private data with; the rest, 56 bytes, is
     * the application's.
     */
    final class IpAddresses {
        /** Bytes before the application's. */
        public static final int BYTES = 36;

        /** Bytes that are left to the application. */
        public static final int USER_BYTES = REQ_PRIVATE_BYTES - BYTES;

        /** Service ids of TCP ports start with this; the port is the rest. */
        private static final long TCP_PORTS = 0x0106_0000L;

        private static final int PORTS = 1 << 16;

        private IpAddresses() {}

        /** The service id on the wire for one of the application's: a port when it is one. */
        public static long toWire(long serviceId) {
            return serviceId >= 0 && serviceId < PORTS ? TCP_PORTS | serviceId : serviceId;
        }

        /** The application's service id for one on the wire. */
        public static long fromWire(long serviceId) {
            return isPort(serviceId) ? serviceId - TCP_PORTS : serviceId;
        }

        /** True for the service ids, on the wire, whose private data begins with addresses. */
        public static boolean isPort(long serviceId) {
            return serviceId >>> 16 == TCP_PORTS >>> 16;
        }

        /**
         * The private data of a REQ, 92 bytes.
         *
         * @param local address and port of the sender
         * @param user at most 56 bytes
         */
        public static PrivateData privateData(NetAddress local, NetAddress remote, byte[] user) {
            byte[] data = new byte[REQ_PRIVATE_BYTES];
            data[1] = (byte) (local.isIpv4() ? 0x40 : 0x60);
            data[2] = (byte) (local.port() >>> 8);
            data[3] = (byte) local.port();
            put(data, 4, local);
            put(data, 20, remote);
            System.arraycopy(user, 0, data, BYTES, user.length);
            return PrivateData.of(data, REQ_PRIVATE_BYTES);
        }

        /** The application's part of the private data of a REQ: 56 bytes, or all 92. */
        public static byte[] user(Req req) {
            return req.privateData.from(isPort(req.serviceId) ? BYTES : 0);
        }

        private static void put(byte[] data, int at, NetAddress address) {
            boolean ipv4 = address.isIpv4();
            long low = ipv4 ? address.low() & 0xFFFF_FFFFL : address.low();
            for (int i = 0; i < 8; i++) {
                data[at + i] = (byte) (address.high() >>> (56 - 8 * i));
                data[at + 8 + i] = (byte) (low >>> (56 - 8 * i));
            }
        }
    }
}
