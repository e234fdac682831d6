package dev.metaroce.rocev2;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.CmMessage;

import org.jspecify.annotations.Nullable;

/**
 * The messages about one queue pair and one of the peer, from REQ to DREP. Owner: the engine
 * thread.
 */
final class Exchange {
    /** What it waits for. */
    enum State {
        /** We ask: a queue pair of the application. */
        NEW,
        /** We asked: REP. */
        REQ_SENT,
        /** The peer asked: what the application says. */
        OFFERED,
        /** The application accepted: its queue pair. */
        ACCEPTED,
        /** We accepted: RTU, or a packet for the queue pair. */
        REP_SENT,
        /** Nothing: connected. */
        ESTABLISHED,
        /** We end it: DREP. */
        DREQ_SENT,
        /** Late duplicates of what the peer sent. */
        OVER
    }

    final RcConnection connection;

    /** Number of the queue pair in its connection. */
    final int stream;

    final NetAddress peer;

    /** Our number of the exchange, whose low bits are its place. */
    final int localId;

    State state = State.NEW;

    /** The peer's number, 0 while it is not known. */
    int remoteId;

    long transactionId;

    /** The path MTU that is asked for, in bytes. */
    int mtu;

    /** What the peer asked for; null when we ask. */
    CmMessage.@Nullable Req asked;

    @Nullable RoceOffer offer;

    /** The latest message that is sent again, by time or for a duplicate. */
    @Nullable CmMessage latest;

    /** How often that was sent again by time. */
    int resent;

    /** What the peer says instead of an answer, so far; empty when nothing. */
    String heard = "";

    final long startedNs;

    Exchange(RcConnection connection, int stream, NetAddress peer, int localId, long nowNs) {
        this.connection = connection;
        this.stream = stream;
        this.peer = peer;
        this.localId = localId;
        startedNs = nowNs;
    }

    /** The queue pair, or null when the application did not make it yet. */
    @Nullable RcQueuePair queuePair() {
        RcQueuePair[] all = connection.qps();
        return stream < all.length ? all[stream] : null;
    }
}
