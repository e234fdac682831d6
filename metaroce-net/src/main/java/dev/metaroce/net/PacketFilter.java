package dev.metaroce.net;

import java.nio.ByteBuffer;

/**
 * Looks at every packet a {@link FaultRelay} received, before any other fault, and may decide its
 * fate: how tests drop just this packet or keep that one back.
 *
 * <p>Called on the relay's thread. It may change the bytes; position and limit are the datagram and
 * do not matter afterwards. It must not keep the buffer.
 */
@FunctionalInterface
public interface PacketFilter {
    /** Leaves everything to the configured faults. */
    PacketFilter NONE = (toTarget, packet, clientIndex) -> Verdict.PASS;

    /** What becomes of a packet. All verdicts but PASS exempt it from the configured faults. */
    enum Verdict {
        /** The configured faults decide. */
        PASS,
        /** Goes on as it is (black hole and delay included). */
        FORWARD,
        /** Is dropped, and counted as dropped. */
        DROP,
        /** Goes on twice, and is counted as duplicated. */
        DUPLICATE,
        /** Goes on with one bit flipped, and is counted as corrupted. */
        CORRUPT,
        /** Changes places with the next packet of its client, and is counted as reordered. */
        SWAP,
        /** Is kept until {@link FaultRelay#release}, or for ever. */
        HOLD
    }

    /**
     * Decides about one packet.
     *
     * @param toTarget true on the way to the target, false on the way back
     * @param packet the datagram, from position to limit; may be empty
     * @param clientIndex which client socket it is from, or for
     */
    Verdict onPacket(boolean toTarget, ByteBuffer packet, int clientIndex);
}
