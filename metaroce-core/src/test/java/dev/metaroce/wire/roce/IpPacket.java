package dev.metaroce.wire.roce;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A datagram with IP and UDP header, as on the wire. The ICRC is worked out bit by bit from the
 * rule in docs/rocev2.md, without any code of the product.
 *
 * @param bytes from the IP header to the ICRC
 */
record IpPacket(byte[] bytes) {
    private static final int UDP_BYTES = 8;

    static IpPacket of(String hex) {
        return new IpPacket(HexFormat.of().parseHex(hex.replace(" ", "")));
    }

    /**
     * A datagram around a packet, which gets a right ICRC.
     *
     * @param identification of IPv4, 0..65535
     * @param packet from the BTH to the pad
     */
    static IpPacket around(
            NetAddress source, NetAddress destination, int identification, byte[] packet) {
        boolean ipv4 = source.isIpv4();
        int udpBytes = UDP_BYTES + packet.length + Icrc.BYTES;
        ByteBuffer b = ByteBuffer.allocate((ipv4 ? 20 : 40) + udpBytes);
        if (ipv4) {
            b.putShort((short) 0x4500).putShort((short) b.capacity());
            b.putShort((short) identification).putShort((short) 0x4000);
            b.putShort((short) (64 << 8 | 17)).putShort((short) 0);
            b.putInt((int) source.low()).putInt((int) destination.low());
        } else {
            b.putInt(0x6000_0000).putShort((short) udpBytes).putShort((short) (17 << 8 | 64));
            b.putLong(source.high()).putLong(source.low());
            b.putLong(destination.high()).putLong(destination.low());
        }
        b.putShort((short) source.port()).putShort((short) destination.port());
        b.putShort((short) udpBytes).putShort((short) 0).put(packet);
        return new IpPacket(b.array()).sealed();
    }

    boolean isIpv4() {
        return bytes[0] >>> 4 == 4;
    }

    /** Offset of the BTH. */
    int bthAt() {
        return (isIpv4() ? (bytes[0] & 0xF) * 4 : 40) + UDP_BYTES;
    }

    int packetBytes() {
        return bytes.length - bthAt();
    }

    /** From the BTH to the ICRC: what a socket gives. */
    byte[] packet() {
        return Arrays.copyOfRange(bytes, bthAt(), bytes.length);
    }

    int identification() {
        return isIpv4() ? u16(4) : 0;
    }

    NetAddress source() {
        return address(isIpv4() ? 12 : 8, u16(bthAt() - UDP_BYTES));
    }

    NetAddress destination() {
        return address(isIpv4() ? 16 : 24, u16(bthAt() - UDP_BYTES + 2));
    }

    /** The datagram in memory of exactly its size, the IP header at 0. */
    PacketMemory memory() {
        PacketMemory memory = new PacketMemory(bytes.length);
        memory.bytes().put(0, bytes);
        return memory;
    }

    IpPacket with(int at, int value) {
        byte[] copy = bytes.clone();
        copy[at] = (byte) value;
        return new IpPacket(copy);
    }

    IpPacket flipped(int bit) {
        return with(bit / 8, bytes[bit / 8] ^ (0x80 >>> (bit % 8)));
    }

    /** The same with a right ICRC. */
    IpPacket sealed() {
        byte[] copy = bytes.clone();
        int crc = icrc();
        for (int i = 0; i < 4; i++) {
            copy[copy.length - 4 + i] = (byte) (crc >>> (8 * i));
        }
        return new IpPacket(copy);
    }

    /** What a socket would say of this datagram. */
    RoceVerdict door(Icrc icrc) {
        return RoceDoor.check(icrc, memory(), bthAt(), packetBytes(), source(), destination());
    }

    int icrc() {
        byte[] masked = new byte[8 + bytes.length - 4];
        for (int i = 0; i < masked.length; i++) {
            masked[i] = i < 8 ? (byte) 0xFF : bytes[i - 8];
        }
        int[] ones =
                isIpv4()
                        ? new int[] {1, 8, 10, 11, bthAt() - 2, bthAt() - 1, bthAt() + 4}
                        : new int[] {1, 2, 3, 7, bthAt() - 2, bthAt() - 1, bthAt() + 4};
        for (int at : ones) {
            masked[8 + at] = (byte) 0xFF;
        }
        if (!isIpv4()) {
            masked[8] |= 0x0F;
        }
        int crc = -1;
        for (byte b : masked) {
            crc ^= b & 0xFF;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc >>> 1) ^ ((crc & 1) != 0 ? 0xEDB8_8320 : 0);
            }
        }
        return ~crc;
    }

    private NetAddress address(int at, int port) {
        if (isIpv4()) {
            return NetAddress.ofIpv4((u16(at) << 16) | u16(at + 2), port);
        }
        return new NetAddress(u64(at), u64(at + 8), port, 0, 0);
    }

    private int u16(int at) {
        return ((bytes[at] & 0xFF) << 8) | (bytes[at + 1] & 0xFF);
    }

    private long u64(int at) {
        long value = 0;
        for (int i = 0; i < 8; i++) {
            value = (value << 8) | (bytes[at + i] & 0xFF);
        }
        return value;
    }
}
