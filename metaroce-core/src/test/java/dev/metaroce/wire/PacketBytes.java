package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;

/** Moves test packets in and out of packet memory. */
final class PacketBytes {
    /** Where {@link #encoded} lets packets start: not at 0 and not aligned. */
    static final int AT = 5;

    private static final byte CANARY = (byte) 0xEE;
    private static final int MEMORY_BYTES = 2_048;

    private PacketBytes() {}

    /** Memory that holds these bytes and not one more, so that reading too far throws. */
    static PacketMemory exactly(byte[] bytes) {
        PacketMemory memory = new PacketMemory(bytes.length);
        memory.bytes().put(0, bytes);
        return memory;
    }

    /** Memory full of canaries, to encode at {@link #AT}. */
    static PacketMemory canaries() {
        PacketMemory memory = new PacketMemory(MEMORY_BYTES);
        for (int i = 0; i < MEMORY_BYTES; i++) {
            memory.put8(i, CANARY);
        }
        return memory;
    }

    /** The packet encoded at {@link #AT}; everything around it must still be canaries. */
    static byte[] encoded(PacketMemory memory, int bytes) {
        for (int i = 0; i < MEMORY_BYTES; i++) {
            if (i < AT || i >= AT + bytes) {
                assertThat(memory.u8(i)).as("byte %d around the packet", i).isEqualTo(0xEE);
            }
        }
        return bytes(memory, AT, bytes);
    }

    static byte[] bytes(PacketMemory memory, int at, int length) {
        byte[] bytes = new byte[length];
        memory.bytes().get(at, bytes);
        return bytes;
    }

    /** The bytes with a checksum that is right for them in the last four. */
    static byte[] resealed(byte[] bytes) {
        byte[] copy = Arrays.copyOf(bytes, bytes.length);
        int crc = bitwiseCrc(copy, copy.length - 4);
        for (int i = 0; i < 4; i++) {
            copy[copy.length - 4 + i] = (byte) (crc >>> (24 - 8 * i));
        }
        return copy;
    }

    /** CRC-32C bit by bit, from its polynomial alone. */
    static int bitwiseCrc(byte[] bytes, int length) {
        int crc = -1;
        for (int i = 0; i < length; i++) {
            crc ^= bytes[i] & 0xFF;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc >>> 1) ^ ((crc & 1) != 0 ? 0x82F6_3B78 : 0);
            }
        }
        return ~crc;
    }

    /** What the door says to these bytes. */
    static DoorVerdict check(byte[] bytes) {
        return PacketDoor.check(exactly(bytes), 0, bytes.length);
    }
}
