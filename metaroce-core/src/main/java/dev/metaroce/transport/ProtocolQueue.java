package dev.metaroce.transport;

import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.WorkQueue;

/** The engine's side of a queue pair. Applications touch the two work queues and the bell. */
public interface ProtocolQueue {
    ProtocolConnection connection();

    WorkQueue sendQueue();

    WorkQueue receiveQueue();

    DoorbellList.Bell bell();

    /** Any thread: true after a work request failed. */
    boolean inError();

    /**
     * Posting thread, after a post without a bell: true when the engine may have flushed the queue
     * before that post and has to be told of it.
     */
    boolean missedFlush();

    /**
     * Bytes of a posted send that the peer has not acknowledged; 0 when there is none of that
     * number. Engine thread only.
     */
    long unacknowledgedBytes(long wrId);

    /** Posting thread: the queue pair is to end, at the next ring of the bell. */
    void close();
}
