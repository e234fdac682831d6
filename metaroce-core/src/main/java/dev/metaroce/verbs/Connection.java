package dev.metaroce.verbs;

import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.ProtocolConnection;
import dev.metaroce.transport.SendingState;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

/**
 * A lasting relation of two endpoints. It costs host memory only: a context id is leased while
 * there is work and given back afterwards.
 *
 * <p>Queries may come from any thread.
 */
public final class Connection {
    private final RdmaDevice device;
    private final ProtocolConnection transport;

    Connection(RdmaDevice device, ProtocolConnection transport) {
        this.device = device;
        this.transport = transport;
    }

    ProtocolConnection transport() {
        return transport;
    }

    /**
     * The state. CLOSED and FAILED are set before the work that is left is flushed, so that a
     * poller of a flushed request can ask why; its completion may come a moment after the state.
     */
    public ConnectionState state() {
        return transport.state();
    }

    /**
     * Waits until the connection is open; in inline mode the calling thread drives the engine.
     *
     * @param timeoutNs longest wait in nanoseconds
     * @return this connection
     * @throws IllegalStateException when it ended instead, with the reason, or is not open in time;
     *     when the device is closed or failed; when called on the engine's thread
     */
    public Connection awaitOpen(long timeoutNs) {
        if (!device.awaitOpen(this, timeoutNs)) {
            String why = failure().isEmpty() ? transport + " is " + state() : failure();
            throw new IllegalStateException(why);
        }
        return this;
    }

    /** Why the connection failed: one line with peer, reason and progress; empty unless FAILED. */
    public String failure() {
        return transport.failure();
    }

    public NetAddress peer() {
        return transport.peer();
    }

    /**
     * The peer's private data: of its answer at the dialling end, of its request at the other. With
     * RoCEv2 its length is not known, and zeros follow.
     */
    public byte[] peerPrivateData() {
        return transport.peerPrivateData();
    }

    /** Payload bytes per packet agreed with the peer; 0 before the first grant. */
    public int payloadMtu() {
        return transport.payloadMtu();
    }

    /** Paths of the present or last lease; 0 before the first grant. */
    public int paths() {
        return transport.paths();
    }

    /** The profile of the present or last lease; null before the first grant. */
    public @Nullable Profile profile() {
        return transport.profile();
    }

    /** The context id held now, or -1 when no lease is open. */
    public int cid() {
        return transport.cid();
    }

    /**
     * How the present lease sends; null when there is none. For the thread that drives the engine.
     */
    public @Nullable SendingState sending() {
        return transport.sending();
    }

    /** Where the lease stands: one line. For the thread that drives the engine. */
    public String leaseText(long nowNs) {
        return transport.leaseText(nowNs);
    }

    /**
     * Creates the queue pair of the next stream number (0, 1, ...).
     *
     * @throws IllegalArgumentException when a completion queue is too small for these depths
     */
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options) {
        return device.createQueuePair(this, domain, options);
    }

    /** A queue pair with these depths and defaults for all else. */
    public QueuePair createQueuePair(
            ProtectionDomain domain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            int sendDepth,
            int receiveDepth) {
        QueuePairOptions.Builder options = QueuePairOptions.of(sendQueue, receiveQueue);
        return createQueuePair(
                domain, options.sendDepth(sendDepth).receiveDepth(receiveDepth).build());
    }

    /**
     * Ends the connection: posted work is finished first, then the lease is released and the peer
     * is told. Returns at once; {@link #state()} becomes CLOSED.
     */
    public void close() {
        device.close(transport);
    }
}
