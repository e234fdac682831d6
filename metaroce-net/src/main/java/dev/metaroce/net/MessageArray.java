package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * An array of {@code struct mmsghdr} for sendmmsg and recvmmsg, each with one buffer, a socket
 * address and control messages, laid out as 64-bit Linux has them in little endian (x86-64,
 * AArch64, RISC-V).
 *
 * <p>Owned by the port's thread. Nothing allocates after construction.
 */
final class MessageArray {
    /** Length of the parts of one message. */
    private static final int HEADER_BYTES = 64;

    private static final int NAME_BYTES = 32;
    private static final int BUFFER_BYTES = 16;

    /** Two control messages on sending; on receiving room for one more than is asked for. */
    private static final int CONTROL_BYTES = 96;

    // struct msghdr, and the length that mmsghdr adds
    private static final int MSG_NAME = 0;
    private static final int MSG_NAMELEN = 8;
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSG_FLAGS = 48;
    private static final int MSG_LEN = 56;

    // struct cmsghdr
    private static final int CMSG_LEVEL = 8;
    private static final int CMSG_TYPE = 12;
    private static final int CMSG_DATA = 16;
    private static final int CMSG_SPACE = 24;

    private static final int SOCKADDR_IN_BYTES = 16;
    private static final int SOCKADDR_IN6_BYTES = 28;
    private static final int MSG_CTRUNC = 0x8;
    private static final int MSG_TRUNC = 0x20;

    /** ECN field of the traffic class (RFC 3168): ECN-capable. */
    private static final int ECT_0 = 2;

    private final MemorySegment memory;
    private final int names;
    private final int buffers;
    private final int controls;
    private final boolean ipv6;
    private final int trafficClass;

    // What readControl() found
    private int segmentBytes;
    private Ecn ecn = Ecn.UNKNOWN;

    /**
     * @param messages entries of the array
     * @param ipv6 the socket is of family AF_INET6: IPv4 addresses are written mapped
     * @param dscp differentiated services code point of what is sent, 0..63
     */
    MessageArray(int messages, boolean ipv6, int dscp) {
        this.ipv6 = ipv6;
        trafficClass = dscp << 2;
        names = messages * HEADER_BYTES;
        buffers = names + messages * NAME_BYTES;
        controls = buffers + messages * BUFFER_BYTES;
        memory = Arena.ofAuto().allocate(controls + (long) messages * CONTROL_BYTES, 64);
        for (int i = 0; i < messages; i++) {
            int header = i * HEADER_BYTES;
            putLong(header + MSG_NAME, memory.address() + nameAt(i));
        }
    }

    /** True where the layout written here is that of the C library. */
    static boolean fitsThisMachine() {
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
                && java.lang.foreign.ValueLayout.ADDRESS.byteSize() == Long.BYTES;
    }

    private int nameAt(int i) {
        return names + i * NAME_BYTES;
    }

    private int bufferAt(int i) {
        return buffers + i * BUFFER_BYTES;
    }

    private int controlAt(int i) {
        return controls + i * CONTROL_BYTES;
    }

    /** Address of message {@code i}, for a call that starts there. */
    long address(int i) {
        return memory.address() + (long) i * HEADER_BYTES;
    }

    /** Message {@code i} has one buffer. */
    void buffer(int i, long address, long bytes) {
        putLong(bufferAt(i), address);
        putLong(bufferAt(i) + 8, bytes);
        buffers(i, memory.address() + bufferAt(i), 1);
    }

    /** Message {@code i} has {@code count} buffers, in an array of iovec at {@code address}. */
    void buffers(int i, long address, int count) {
        putLong(i * HEADER_BYTES + MSG_IOV, address);
        putLong(i * HEADER_BYTES + MSG_IOVLEN, count);
    }

    // Sending

    /**
     * Sets where message {@code i} goes and how.
     *
     * @param segment bytes per datagram when the kernel is to cut the buffer; 0 when it is one
     * @param ect mark the datagrams ECN-capable
     */
    void outgoing(int i, NetAddress to, int segment, boolean ect) {
        int header = i * HEADER_BYTES;
        putInt(header + MSG_NAMELEN, putName(nameAt(i), to));
        int control = controlAt(i);
        int at = control;
        if (segment > 0) {
            putControl(at, 18, Libc.SOL_UDP, Libc.UDP_SEGMENT, segment);
            at += CMSG_SPACE;
        }
        if (ect) {
            boolean v4 = !ipv6 || to.isIpv4();
            int level = v4 ? Libc.SOL_IP : Libc.SOL_IPV6;
            int type = v4 ? Libc.IP_TOS : Libc.IPV6_TCLASS;
            putControl(at, 20, level, type, trafficClass | ECT_0);
            at += CMSG_SPACE;
        }
        putLong(header + MSG_CONTROL, at == control ? 0 : memory.address() + control);
        putLong(header + MSG_CONTROLLEN, at - control);
    }

    private void putControl(int at, int bytes, int level, int type, int value) {
        putLong(at, bytes);
        putInt(at + CMSG_LEVEL, level);
        putInt(at + CMSG_TYPE, type);
        putInt(at + CMSG_DATA, value);
    }

    /** Writes a socket address of this array's family; returns its length. */
    private int putName(int at, NetAddress to) {
        if (!ipv6) {
            memory.set(JAVA_SHORT, at, (short) Libc.AF_INET);
            putPort(at, to.port());
            putInt(at + 4, Integer.reverseBytes((int) to.low()));
            return SOCKADDR_IN_BYTES;
        }
        memory.set(JAVA_SHORT, at, (short) Libc.AF_INET6);
        putPort(at, to.port());
        putInt(at + 4, 0);
        putLong(at + 8, Long.reverseBytes(to.high()));
        putLong(at + 16, Long.reverseBytes(to.low()));
        putInt(at + 24, to.scopeId());
        return SOCKADDR_IN6_BYTES;
    }

    private void putPort(int at, int port) {
        memory.set(JAVA_SHORT, at + 2, Short.reverseBytes((short) port));
    }

    // Receiving

    /** Readies message {@code i} for recvmmsg: the last call overwrote lengths and flags. */
    void incoming(int i) {
        int header = i * HEADER_BYTES;
        putInt(header + MSG_NAMELEN, NAME_BYTES);
        putLong(header + MSG_CONTROL, memory.address() + controlAt(i));
        putLong(header + MSG_CONTROLLEN, CONTROL_BYTES);
        putInt(header + MSG_FLAGS, 0);
    }

    /** Bytes received into buffer {@code i}, of one datagram or of several merged ones. */
    int receivedBytes(int i) {
        return memory.get(JAVA_INT, i * (long) HEADER_BYTES + MSG_LEN);
    }

    /** True when something of the message did not fit; it is of no use then. */
    boolean isCut(int i) {
        int flags = memory.get(JAVA_INT, i * (long) HEADER_BYTES + MSG_FLAGS);
        return (flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
    }

    /** Looks through the control messages; the next two queries tell what was there. */
    void readControl(int i) {
        segmentBytes = 0;
        ecn = Ecn.UNKNOWN;
        long end = memory.get(JAVA_LONG, i * (long) HEADER_BYTES + MSG_CONTROLLEN);
        long base = controlAt(i);
        long at = 0;
        while (at + CMSG_DATA < end) {
            long bytes = memory.get(JAVA_LONG, base + at);
            if (bytes <= CMSG_DATA) {
                return;
            }
            int level = memory.get(JAVA_INT, base + at + CMSG_LEVEL);
            int type = memory.get(JAVA_INT, base + at + CMSG_TYPE);
            if (level == Libc.SOL_UDP && type == Libc.UDP_GRO) {
                segmentBytes = memory.get(JAVA_INT, base + at + CMSG_DATA);
            } else if ((level == Libc.SOL_IP && type == Libc.IP_TOS)
                    || (level == Libc.SOL_IPV6 && type == Libc.IPV6_TCLASS)) {
                // One byte for IPv4, an int for IPv6: in this byte order the first byte is both.
                ecn = Ecn.ofTrafficClass(memory.get(JAVA_BYTE, base + at + CMSG_DATA));
            }
            at += (bytes + 7) & -8;
        }
    }

    /** Size of each datagram in the buffer but the last, 0 when there is one. */
    int segmentBytes() {
        return segmentBytes;
    }

    /** The ECN field of the datagrams. */
    Ecn ecn() {
        return ecn;
    }

    /** The sender of message {@code i}. */
    NetAddress source(int i, int plane, InternedAddresses addresses) {
        int at = nameAt(i);
        int port = port(i);
        if (memory.get(JAVA_SHORT, at) == Libc.AF_INET) {
            int ip = Integer.reverseBytes(memory.get(JAVA_INT, at + 4));
            return addresses.of(0, NetAddress.V4_MAPPED | (ip & 0xFFFF_FFFFL), port, 0, plane);
        }
        return addresses.of(
                Long.reverseBytes(memory.get(JAVA_LONG, at + 8)),
                Long.reverseBytes(memory.get(JAVA_LONG, at + 16)),
                port,
                memory.get(JAVA_INT, at + 24),
                plane);
    }

    /** The port in the address of message {@code i}. */
    int port(int i) {
        return Short.reverseBytes(memory.get(JAVA_SHORT, nameAt(i) + 2)) & 0xFFFF;
    }

    // For bind and getsockname

    /** Writes the address of message {@code i}; returns its length. */
    int name(int i, NetAddress address) {
        return putName(nameAt(i), address);
    }

    /** Where the address of message {@code i} is. */
    long nameAddress(int i) {
        return memory.address() + nameAt(i);
    }

    /** Where the length of that address is. */
    long nameBytesAddress(int i) {
        putInt(i * HEADER_BYTES + MSG_NAMELEN, NAME_BYTES);
        return memory.address() + (long) i * HEADER_BYTES + MSG_NAMELEN;
    }

    private void putInt(int at, int value) {
        memory.set(JAVA_INT, at, value);
    }

    private void putLong(int at, long value) {
        memory.set(JAVA_LONG, at, value);
    }
}
