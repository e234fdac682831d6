package dev.metaroce.transport;

import dev.metaroce.ring.Reservation;

import org.jspecify.annotations.Nullable;

/** A queue pair as it was asked for; its queues may be made later. Any thread. */
public interface QueueSlot {
    /** Number in its connection, equal at both ends. */
    int id();

    StreamSettings settings();

    /** Room for the completions of sends. */
    Reservation sendRoom();

    /** Room for the completions of receives. */
    Reservation receiveRoom();

    /** What completions name as their owner; set once, before work is posted. */
    void attach(Object pair);

    /** The queues when there are some already, else null. */
    @Nullable ProtocolQueue made();

    /** The queues, made now if need be. */
    ProtocolQueue queue();
}
