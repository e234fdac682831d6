package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Sees the IPv4 packets that come in over loopback, headers and all (packet(7)). */
final class PacketSocket implements AutoCloseable {
    private static final int AF_PACKET = 17;
    private static final short ETH_P_IP = 0x0800;
    private static final int SOCKADDR_LL_BYTES = 20;
    private static final int UDP = 17;

    private final Libc libc = new NativeLibc();
    private final MemorySegment buffer = Arena.ofAuto().allocate(65_536, 8);
    private final int fd;

    private PacketSocket(int fd) {
        this.fd = fd;
    }

    /** Skips the test for users who may not see packets. */
    static PacketSocket open() {
        PacketSocket socket = new PacketSocket(new NativeLibc().udpSocket(AF_PACKET));
        Assumptions.assumeTrue(socket.fd >= 0, "needs a packet socket: CAP_NET_RAW");
        socket.bindToLoopback();
        return socket;
    }

    private void bindToLoopback() {
        MemorySegment name = Arena.ofAuto().allocate(SOCKADDR_LL_BYTES, 8);
        name.set(JAVA_SHORT, 0, (short) AF_PACKET);
        name.set(JAVA_SHORT, 2, Short.reverseBytes(ETH_P_IP));
        try {
            InetAddress loopback = InetAddress.getByName("127.0.0.1");
            name.set(JAVA_INT, 4, NetworkInterface.getByInetAddress(loopback).getIndex());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        int result = libc.bind(fd, name.address(), SOCKADDR_LL_BYTES);
        if (result < 0) {
            throw new AssertionError("bind: " + libc.text(-result));
        }
    }

    /** The packets with UDP from a port that came since the last call. */
    List<ByteBuffer> udpFrom(int port) {
        List<ByteBuffer> packets = new ArrayList<>();
        int bytes = read();
        while (bytes > 0) {
            ByteBuffer packet = ByteBuffer.wrap(buffer.asSlice(0, bytes).toArray(JAVA_BYTE));
            int headerBytes = (packet.get(0) & 0xF) * 4;
            if (packet.get(9) == UDP && (packet.getShort(headerBytes) & 0xFFFF) == port) {
                packets.add(packet);
            }
            bytes = read();
        }
        return packets;
    }

    private int read() {
        return libc.read(fd, buffer.address(), (int) buffer.byteSize());
    }

    @Override
    public void close() {
        libc.close(fd);
    }
}
