package dev.metaroce.transport;

import dev.metaroce.ring.Reservation;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

/**
 * What a protocol knows of a relation of two endpoints, as applications see it. Queries may come
 * from any thread, but for those that say otherwise.
 */
public interface ProtocolConnection {
    /** What stands for the connection in the application; null before it is set. */
    @Nullable Object handle();

    /** Sets the handle unless another was; returns the one that is set. */
    Object handle(Object fresh);

    ConnectionState state();

    /** One line, empty unless the state is FAILED. */
    String failure();

    NetAddress peer();

    byte[] peerPrivateData();

    /** Payload bytes per packet agreed with the peer; 0 before that. */
    int payloadMtu();

    /** Paths in use, 0 before the peer answered. */
    int paths();

    /** Profile of MetaRoCE in use; null before the peer answered, and for RoCEv2. */
    @Nullable Profile profile();

    /** The context id held at the peer, or -1. */
    int cid();

    /** How it sends; null when it has no means to. Engine thread only. */
    @Nullable SendingState sending();

    /** Where the connection stands: one line. Engine thread only. */
    String leaseText(long nowNs);

    /** Adds a queue pair, with the next number. */
    QueueSlot addSlot(StreamSettings settings, Reservation sendRoom, Reservation receiveRoom);
}
