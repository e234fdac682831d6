package dev.metaroce.wire;

import java.nio.ByteBuffer;

/** Puts what a packet ends with, its checksum above all, behind one whose payload is elsewhere. */
public interface Sealer {
    /**
     * Writes the end of a packet to where it is when the payload is between header and end.
     *
     * @param at offset of the packet, whose header is complete
     * @param headerBytes bytes before the payload
     * @param payloadBytes bytes of the payload
     * @param payload has the payload between position and limit, or nothing at all when the payload
     *     is virtual and is not covered
     * @throws IllegalStateException when the arena behind {@code payload} was closed
     * @throws WrongThreadException when that arena belongs to another thread
     */
    void seal(PacketMemory m, int at, int headerBytes, int payloadBytes, ByteBuffer payload);
}
