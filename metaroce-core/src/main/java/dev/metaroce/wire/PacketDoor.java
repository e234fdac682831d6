package dev.metaroce.wire;

/**
 * The one place where a datagram becomes a packet. What passes here can be read with the static
 * methods of this package without further length checks; everything else is dropped and counted
 * under its verdict, and is never answered.
 */
public final class PacketDoor {
    private PacketDoor() {}

    /**
     * Checks a datagram: length, version, checksum, type, then what its type asks for. Never throws
     * for bytes that lie inside the memory, whatever they are.
     *
     * @param at offset of the datagram in the memory
     * @param bytes length of the datagram, with a payload that is {@linkplain PacketMemory#elide
     *     elided}
     */
    public static DoorVerdict check(PacketMemory m, int at, int bytes) {
        int stored = bytes - m.elidedBytes();
        //= MR-2.1-7
        if (stored < CommonHeader.MIN_PACKET_BYTES) {
            return DoorVerdict.TOO_SHORT;
        }
        //= MR-2.2-2
        if (CommonHeader.version(m, at) != CommonHeader.VERSION) {
            return DoorVerdict.BAD_VERSION;
        }
        //= MR-2.1-4
        if (!CommonHeader.crcOk(m, at, stored)) {
            return DoorVerdict.BAD_CRC;
        }
        //= MR-2.1-3
        boolean ok = bytes <= CommonHeader.MAX_PACKET_BYTES && wellFormed(m, at, bytes);
        return ok ? DoorVerdict.OK : DoorVerdict.MALFORMED;
    }

    /**
     * True when a datagram that got BAD_VERSION is a REQUEST of another version, which may be
     * answered with one DENY that tells the versions understood: nonce and source context lie where
     * version 1 has them.
     */
    public static boolean isForeignRequest(PacketMemory m, int at, int bytes) {
        //= MR-2.1-10
        int stored = bytes - m.elidedBytes();
        return stored >= ControlMessage.bytes(ControlOpcode.REQUEST)
                && CommonHeader.version(m, at) != CommonHeader.VERSION
                && CommonHeader.type(m, at) == PacketType.CTRL.code()
                && CommonHeader.opcode(m, at) == ControlOpcode.REQUEST.code()
                && CommonHeader.crcOk(m, at, stored);
    }

    private static boolean wellFormed(PacketMemory m, int at, int bytes) {
        PacketType type = PacketType.of(CommonHeader.type(m, at));
        if (type == null) {
            //= MR-2.2-3
            return false;
        }
        boolean carriesPayload = type == PacketType.DATA || type == PacketType.CTRL;
        if (m.elidedBytes() != 0 && !carriesPayload) {
            return false;
        }
        return switch (type) {
            case DATA -> DataHeader.wellFormed(m, at, bytes);
            case ACK -> AckHeader.wellFormed(m, at, bytes);
            case NAK -> NakHeader.wellFormed(m, at, bytes);
            case CTRL -> ControlMessage.wellFormed(m, at, bytes);
            //= MR-2.5-6
            case PROBE -> bytes == CommonHeader.MIN_PACKET_BYTES;
        };
    }
}
