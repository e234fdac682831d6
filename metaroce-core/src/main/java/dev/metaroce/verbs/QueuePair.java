package dev.metaroce.verbs;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.WorkRequest;
import dev.metaroce.rocev2.RcQueuePair;
import dev.metaroce.rocev2.RoceConnect;
import dev.metaroce.transport.ProtocolQueue;
import dev.metaroce.transport.QueueSlot;

import org.jspecify.annotations.Nullable;

/**
 * A send queue and a receive queue: one independent, ordered stream of messages inside a
 * connection. The queue pairs of both ends with the same stream number talk to each other.
 *
 * <p>Posting never blocks. One thread at a time may post sends and one may post receives. A buffer
 * belongs to the device from its post until its completion was polled.
 *
 * <pre>{@code
 * qp.postWrite(7, local, 0, 4096, remote.address(), remote.rkey());
 * while (!cq.poll(wc)) device.progress();
 * }</pre>
 */
public final class QueuePair implements AutoCloseable {
    /** Longest message: 2^31 bytes. */
    public static final long MAX_MESSAGE_BYTES = WorkRequest.MAX_MESSAGE_BYTES;

    private final QueueSlot slot;
    private final Connection connection;
    private final RdmaDevice device;
    private @Nullable SendRequest ownSend;
    private @Nullable ReceiveRequest ownReceive;
    private boolean closed;

    QueuePair(RdmaDevice device, Connection connection, QueueSlot slot) {
        this.device = device;
        this.connection = connection;
        this.slot = slot;
    }

    /** The stream number, 0..65535, equal at both ends. */
    public int streamId() {
        return slot.id();
    }

    public Connection connection() {
        return connection;
    }

    /** True after a work request failed: everything posted is flushed with an error. */
    public boolean inError() {
        ProtocolQueue queue = slot.made();
        return queue != null && queue.inError();
    }

    /**
     * RoCEv2: what the other end has to know of this one.
     *
     * @throws IllegalStateException when the device speaks another protocol
     */
    public RoceConnect localEnd() {
        return roce().localEnd(connection.peer());
    }

    /**
     * RoCEv2: tells this end of a connection by hand what it has to know of the other; once. Work
     * may have been posted before.
     *
     * @throws IllegalStateException when the device speaks another protocol, or the connection is
     *     made by messages
     */
    public void connect(RoceConnect other) {
        RcQueuePair queue = roce();
        if (!queue.isByHand()) {
            throw new IllegalStateException(
                    "the queue pair is connected with its connection: use one of connectByHand");
        }
        device.connect(queue, other);
    }

    private RcQueuePair roce() {
        if (slot instanceof RcQueuePair queue) {
            return queue;
        }
        throw new IllegalStateException("the device does not speak RoCEv2: open it with that");
    }

    /**
     * Bytes of a posted send that the peer has not acknowledged, the packets on the way counted as
     * full ones; 0 when there is none of that number. For the thread that drives the engine.
     */
    public long unacknowledgedBytes(long wrId) {
        ProtocolQueue queue = slot.made();
        return queue == null ? 0 : queue.unacknowledgedBytes(wrId);
    }

    /**
     * Posts a send (as {@code ibv_post_send}); what the request says is stored, so it may be
     * changed and posted again at once.
     *
     * @return QUEUE_FULL when nothing was posted, see {@link PostResult}
     * @throws IllegalArgumentException when the request can not be right: no operation, a range
     *     outside its region, a closed region or arena, a region of another domain, too many
     *     pieces, too long; one line says which. Nothing was posted then
     * @throws IllegalStateException when the queue pair has ended
     */
    public PostResult post(SendRequest request) {
        requireLive(slot.sendRoom());
        if (!request.hasOperation()) {
            throw new IllegalArgumentException(
                    "send request without an operation: say write, send or another first");
        }
        ProtocolQueue queue = slot.queue();
        PostResult result = queue.sendQueue().offer(request);
        if (result == PostResult.OK) {
            device.ring(queue);
        }
        return result;
    }

    /**
     * Posts a receive (as {@code ibv_post_recv}): the place for the next message that takes one.
     * Results and errors as for {@link #post(SendRequest)}.
     */
    public PostResult post(ReceiveRequest request) {
        requireLive(slot.receiveRoom());
        if (slot.settings().shared() != null) {
            throw new IllegalStateException(
                    "the queue pair takes its receives from a shared queue: post them there");
        }
        ProtocolQueue queue = slot.queue();
        PostResult result = queue.receiveQueue().offer(request);
        // The engine looks for receives when messages come. A failed pair gets none any more.
        if (result == PostResult.OK && queue.missedFlush()) {
            device.ring(queue);
        }
        return result;
    }

    private void requireLive(Reservation room) {
        if (closed || room.isReturned()) {
            throw new IllegalStateException(
                    "the queue pair "
                            + (closed ? "is closed" : "ended with its connection")
                            + ": nothing can be posted to it any more");
        }
    }

    private SendRequest aSend(
            long wrId, MemoryRegion local, long offset, long length, boolean signaled) {
        SendRequest request = ownSend;
        if (request == null) {
            request = new SendRequest();
            ownSend = request;
        }
        return request.wrId(wrId).local(local, offset, length).signaled(signaled);
    }

    /** RDMA WRITE with a completion; a short form of {@link #post(SendRequest)}. */
    public PostResult postWrite(
            long wrId, MemoryRegion local, long offset, long length, long remoteAddress, int rkey) {
        return postWrite(wrId, local, offset, length, remoteAddress, rkey, true);
    }

    /**
     * RDMA WRITE: copies {@code length} bytes from {@code local} at {@code offset} to the peer's
     * memory. The peer's application is not told.
     *
     * @param wrId the caller's number, returned by the completion
     * @param length 0..2^31 bytes
     * @param remoteAddress address in the peer's region, as in its {@code RegionDescriptor}
     * @param signaled false to get a completion only in case of an error
     */
    public PostResult postWrite(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            boolean signaled) {
        return post(aSend(wrId, local, offset, length, signaled).write(remoteAddress, rkey));
    }

    /** RDMA WRITE that also consumes a posted receive of the peer and hands it 32 bits. */
    public PostResult postWriteWithImmediate(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            int immediate,
            boolean signaled) {
        return post(
                aSend(wrId, local, offset, length, signaled)
                        .writeWithImmediate(remoteAddress, rkey, immediate));
    }

    /** SEND into the peer's next posted receive, with a completion. */
    public PostResult postSend(long wrId, MemoryRegion local, long offset, long length) {
        return postSend(wrId, local, offset, length, true);
    }

    /** SEND; {@code signaled} false asks for a completion only in case of an error. */
    public PostResult postSend(
            long wrId, MemoryRegion local, long offset, long length, boolean signaled) {
        return post(aSend(wrId, local, offset, length, signaled).send());
    }

    /** SEND that hands 32 bits to the receive completion. */
    public PostResult postSendWithImmediate(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            int immediate,
            boolean signaled) {
        return post(aSend(wrId, local, offset, length, signaled).sendWithImmediate(immediate));
    }

    /** RDMA READ with a completion; a short form of {@link #post(SendRequest)}. */
    public PostResult postRead(
            long wrId, MemoryRegion local, long offset, long length, long remoteAddress, int rkey) {
        return postRead(wrId, local, offset, length, remoteAddress, rkey, true);
    }

    /**
     * RDMA READ: copies {@code length} bytes of the peer's memory to {@code local} at {@code
     * offset}; see {@link SendRequest#read}.
     *
     * @param signaled false to get a completion only in case of an error
     */
    public PostResult postRead(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            boolean signaled) {
        return post(aSend(wrId, local, offset, length, signaled).read(remoteAddress, rkey));
    }

    /**
     * Compare and swap; the old value goes to {@code local}: {@link SendRequest#compareAndSwap}.
     */
    public PostResult postCompareAndSwap(
            long wrId,
            MemoryRegion local,
            long offset,
            long remoteAddress,
            int rkey,
            long compare,
            long swap) {
        return post(
                aSend(wrId, local, offset, Long.BYTES, true)
                        .compareAndSwap(remoteAddress, rkey, compare, swap));
    }

    /** Fetch and add; the old value goes to {@code local}: {@link SendRequest#fetchAndAdd}. */
    public PostResult postFetchAndAdd(
            long wrId, MemoryRegion local, long offset, long remoteAddress, int rkey, long add) {
        return post(
                aSend(wrId, local, offset, Long.BYTES, true).fetchAndAdd(remoteAddress, rkey, add));
    }

    /**
     * Posts a buffer for the next incoming SEND (or for the notice of a WRITE with immediate).
     *
     * @param local region with local write access
     */
    public PostResult postReceive(long wrId, MemoryRegion local, long offset, long length) {
        return post(aReceive(wrId).local(local, offset, length));
    }

    /** Posts a receive without a buffer: for WRITE with immediate and zero-length SENDs. */
    public PostResult postReceive(long wrId) {
        return post(aReceive(wrId).empty());
    }

    private ReceiveRequest aReceive(long wrId) {
        ReceiveRequest request = ownReceive;
        if (request == null) {
            request = new ReceiveRequest();
            ownReceive = request;
        }
        return request.wrId(wrId);
    }

    /**
     * Ends the queue pair (as {@code ibv_destroy_qp}); returns at once. What is posted is flushed
     * with an error, and when those completions were polled, the room in the completion queues is
     * free for other queue pairs. Requests of the peer on this stream fail from then on; its number
     * is not used again. To be called by the posting thread, or when nobody posts any more.
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            ProtocolQueue queue = slot.queue();
            queue.close();
            device.ring(queue);
        }
    }
}
