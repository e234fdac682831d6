package dev.metaroce.net;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;

/** A packet a relay keeps for a while: delayed, or held back. Reused; see {@link PacketStore}. */
final class StoredPacket {
    final int sizeClass;
    final ByteBuffer bytes;
    @Nullable RelayLane lane;
    @Nullable RelayClient client;

    /** How often it is sent when its time comes. */
    int copies;

    long dueNs;

    /** Tells apart packets of the same time: the earlier stored goes first. */
    long order;

    /** Packets that must still pass it; 0 when it waits for time alone. */
    int passesLeft;

    /** Sent already; only its place in the heap is left. */
    boolean done;

    StoredPacket(int sizeClass, ByteBuffer bytes) {
        this.sizeClass = sizeClass;
        this.bytes = bytes;
    }
}
