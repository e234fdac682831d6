package dev.metaroce.testing;

import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** Reads and changes RoCEv2 packets of a {@link Lab}. */
public final class RocePackets {
    private RocePackets() {}

    /** Limits of devices whose path MTU this is. */
    public static DeviceLimits mtu(int bytes) {
        return DeviceLimits.defaults().toBuilder().payloadMtu(bytes).build();
    }

    private static PacketMemory memory(byte[] bytes) {
        PacketMemory m = new PacketMemory(bytes.length);
        m.bytes().put(0, bytes);
        return m;
    }

    /** The operation of a packet. */
    public static RcOpcode opcode(Lab.Packet packet) {
        return Objects.requireNonNull(RcOpcode.of(packet.bytes[0]));
    }

    /** True for a packet of a requester. */
    public static boolean isRequest(Lab.Packet packet) {
        return opcode(packet).isRequest();
    }

    /** True for an ACK, a NAK, and the answer of an atomic. */
    public static boolean isAck(Lab.Packet packet) {
        return opcode(packet).isResponse() && !opcode(packet).isReadResponse();
    }

    /** Sequence number of a packet. */
    public static int psn(Lab.Packet packet) {
        return Bth.psn(memory(packet.bytes), 0);
    }

    /** Queue pair that a packet is for. */
    public static int destQp(Lab.Packet packet) {
        return Bth.destQp(memory(packet.bytes), 0);
    }

    /** Syndrome of a packet that has one, else null. */
    public static @Nullable Integer syndrome(Lab.Packet packet) {
        return opcode(packet).hasAeth() ? Aeth.syndrome(memory(packet.bytes), 0) : null;
    }

    /** Changes a packet with all its bytes, which then gets the right ICRC again. */
    @FunctionalInterface
    public interface Change {
        void apply(PacketMemory m);
    }

    /** The bytes of a packet after a change of its headers. */
    public static byte[] changed(Lab.Packet packet, Change change) {
        return changed(packet, packet.source, packet.destination, change);
    }

    /** As {@link #changed(Lab.Packet, Change)}, of another source. */
    public static byte[] changed(
            Lab.Packet packet, NetAddress source, NetAddress destination, Change change) {
        PacketMemory m = memory(packet.bytes);
        change.apply(m);
        Icrc icrc = new Icrc();
        icrc.flow(source, destination);
        icrc.seal(m, 0, packet.bytes.length - Icrc.BYTES, 0);
        byte[] bytes = new byte[packet.bytes.length];
        m.bytes().get(0, bytes);
        return bytes;
    }

    /** Another operation, with further headers out of what was payload. */
    public static byte[] as(Lab.Packet packet, RcOpcode opcode) {
        return changed(packet, m -> m.put8(0, opcode.code()));
    }

    /** Another PSN, with all else as it is. */
    public static byte[] withPsn(Lab.Packet packet, int psn) {
        return changed(packet, m -> m.put32(8, (m.i32(8) & 0xFF00_0000) | (psn & 0xFF_FFFF)));
    }
}
