package dev.metaroce.wire.roce;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/**
 * The one place where a datagram becomes a RoCEv2 packet. What passes here can be read with the
 * static methods of this package without further length checks; everything else is dropped and
 * counted under its verdict, and is never answered. Whether a payload fits the path MTU is for the
 * queue pair to say.
 */
public final class RoceDoor {
    private RoceDoor() {}

    /**
     * Checks a datagram. Never throws for bytes that lie inside the memory, whatever they are.
     *
     * @param at offset of the datagram in the memory
     * @param bytes length of the datagram, with a payload that is {@linkplain PacketMemory#elide
     *     elided}
     * @param source address and UDP port that it came from
     * @param destination address and UDP port that it was sent to
     */
    public static RoceVerdict check(
            Icrc icrc,
            PacketMemory m,
            int at,
            int bytes,
            NetAddress source,
            NetAddress destination) {
        RoceVerdict verdict = checkHeaders(m, at, bytes);
        if (verdict != RoceVerdict.OK) {
            return verdict;
        }
        icrc.flow(source, destination);
        return icrc.check(m, at, bytes) == Icrc.MISMATCH ? RoceVerdict.BAD_ICRC : RoceVerdict.OK;
    }

    /** All checks of {@link #check} but that of the ICRC. */
    public static RoceVerdict checkHeaders(PacketMemory m, int at, int bytes) {
        int stored = bytes - m.elidedBytes();
        if (stored < Bth.BYTES + Icrc.BYTES || bytes > Icrc.MAX_PACKET_BYTES) {
            return RoceVerdict.BAD_SIZE;
        }
        if (Bth.version(m, at) != Bth.VERSION) {
            return RoceVerdict.BAD_VERSION;
        }
        RcOpcode opcode = RcOpcode.of(Bth.opcode(m, at));
        if (opcode == null) {
            return RoceVerdict.UNKNOWN_OPCODE;
        }
        int payload = payloadBytes(m, at, opcode, bytes);
        int pad = Bth.padCount(m, at);
        int elided = m.elidedBytes();
        boolean ok =
                payload >= 0
                        && pad == Bth.padBytes(payload)
                        && (elided == 0 || elided == payload)
                        && (pad == 0 || opcode.isLast())
                        && (payload == 0 || opcode.hasPayload());
        return ok ? RoceVerdict.OK : RoceVerdict.MALFORMED;
    }

    /**
     * Payload bytes of a packet that passed the door, the pad not counted.
     *
     * @param bytes length of the whole datagram
     */
    public static int payloadBytes(PacketMemory m, int at, RcOpcode opcode, int bytes) {
        return bytes - opcode.headerBytes() - Bth.padCount(m, at) - Icrc.BYTES;
    }

    /** Bytes of a whole packet: headers, payload, pad and ICRC. */
    public static int packetBytes(RcOpcode opcode, int payloadBytes) {
        return opcode.headerBytes() + payloadBytes + Bth.padBytes(payloadBytes) + Icrc.BYTES;
    }
}
