package dev.metaroce.testing;

import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;

import java.nio.ByteBuffer;

/** Reads and changes the bytes of a packet on its way, for faults in a {@link Lab}. */
public final class RawPacket {
    private RawPacket() {}

    public static boolean is(byte[] packet, PacketType type) {
        return (packet[0] & 0xF) == type.code();
    }

    public static boolean is(byte[] packet, ControlOpcode opcode) {
        return is(packet, PacketType.CTRL) && (packet[5] & 0xFF) == opcode.code();
    }

    public static boolean isData(byte[] packet) {
        return is(packet, PacketType.DATA);
    }

    public static boolean isAck(byte[] packet) {
        return is(packet, PacketType.ACK);
    }

    public static int flags(byte[] packet) {
        return packet[1] & 0xFF;
    }

    /** Token or source context. */
    public static int ctx(byte[] packet) {
        return ByteBuffer.wrap(packet).getShort(2) & 0xFFFF;
    }

    public static int path(byte[] packet) {
        return packet[4] & 0xFF;
    }

    public static int opcode(byte[] packet) {
        return packet[5] & 0xFF;
    }

    public static int stream(byte[] packet) {
        return ByteBuffer.wrap(packet).getShort(6) & 0xFFFF;
    }

    public static int psn(byte[] packet) {
        return ByteBuffer.wrap(packet).getInt(8);
    }

    /** Message number of a DATA packet that carries a message. */
    public static int msn(byte[] packet) {
        return ByteBuffer.wrap(packet).getInt(16);
    }

    /** Bytes of the whole message of a DATA packet. */
    public static long length(byte[] packet) {
        return ByteBuffer.wrap(packet).getInt(24) & 0xFFFF_FFFFL;
    }

    /** The packet with a checksum that is right for it. */
    public static byte[] seal(byte[] packet) {
        PacketMemory memory = new PacketMemory(packet.length);
        memory.bytes().put(0, packet);
        CommonHeader.seal(memory, 0, packet.length - CommonHeader.TRAILER_BYTES);
        memory.bytes().get(0, packet);
        return packet;
    }
}
