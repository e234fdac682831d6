package dev.metaroce.verbs;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.transport.Stream;
import dev.metaroce.wire.Opcode;

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
public final class QueuePair {
    /** Longest message: 2^31 bytes. */
    public static final long MAX_MESSAGE_BYTES = 1L << 31;

    private final Stream stream;
    private final Connection connection;
    private final RdmaDevice device;

    QueuePair(RdmaDevice device, Connection connection, Stream stream) {
        this.device = device;
        this.connection = connection;
        this.stream = stream;
    }

    /** The stream number, 0..65535, equal at both ends. */
    public int streamId() {
        return stream.id();
    }

    public Connection connection() {
        return connection;
    }

    /** True after a work request failed: everything posted is flushed with an error. */
    public boolean inError() {
        return stream.inError();
    }

    /**
     * Bytes of a posted send that the peer has not acknowledged, the packets on the way counted as
     * full ones; 0 when there is none of that number. For the thread that drives the engine.
     */
    public long unacknowledgedBytes(long wrId) {
        return stream.unacknowledgedBytes(wrId);
    }

    /**
     * RDMA WRITE with a completion; see {@link #postWrite(long, MemoryRegion, long, long, long,
     * int, boolean)}.
     */
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
     * @throws IllegalArgumentException when the range is not inside {@code local} or too long
     */
    public PostResult postWrite(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            boolean signaled) {
        return postSendQueue(
                Opcode.WRITE, wrId, local, offset, length, remoteAddress, rkey, 0, signaled);
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
        return postSendQueue(
                Opcode.WRITE_IMM,
                wrId,
                local,
                offset,
                length,
                remoteAddress,
                rkey,
                immediate,
                signaled);
    }

    /** SEND into the peer's next posted receive, with a completion. */
    public PostResult postSend(long wrId, MemoryRegion local, long offset, long length) {
        return postSendQueue(Opcode.SEND, wrId, local, offset, length, 0, 0, 0, true);
    }

    /** SEND; {@code signaled} false asks for a completion only in case of an error. */
    public PostResult postSend(
            long wrId, MemoryRegion local, long offset, long length, boolean signaled) {
        return postSendQueue(Opcode.SEND, wrId, local, offset, length, 0, 0, 0, signaled);
    }

    /** SEND that hands 32 bits to the receive completion. */
    public PostResult postSendWithImmediate(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            int immediate,
            boolean signaled) {
        return postSendQueue(
                Opcode.SEND_IMM, wrId, local, offset, length, 0, 0, immediate, signaled);
    }

    /**
     * RDMA READ with a completion; see {@link #postRead(long, MemoryRegion, long, long, long, int,
     * boolean)}.
     */
    public PostResult postRead(
            long wrId, MemoryRegion local, long offset, long length, long remoteAddress, int rkey) {
        return postRead(wrId, local, offset, length, remoteAddress, rkey, true);
    }

    /**
     * RDMA READ: copies {@code length} bytes of the peer's memory to {@code local} at {@code
     * offset}. It sees what earlier WRITEs and SENDs of this queue pair did. The peer's application
     * is not told.
     *
     * @param wrId the caller's number, returned by the completion
     * @param local region with local write access
     * @param length 0..2^31 bytes
     * @param remoteAddress address in the peer's region, which must have remote read access
     * @param signaled false to get a completion only in case of an error
     * @throws IllegalArgumentException when the range is not inside {@code local} or too long, or
     *     {@code local} is without local write access
     */
    public PostResult postRead(
            long wrId,
            MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            boolean signaled) {
        checkWritable(local);
        return postSendQueue(
                Opcode.READ_REQ, wrId, local, offset, length, remoteAddress, rkey, 0, signaled);
    }

    /**
     * Compare and swap: when the 64-bit value at {@code remoteAddress} equals {@code compare},
     * {@code swap} takes its place, in one step for everyone. The value that was there is stored in
     * {@code local}, 8 bytes at {@code offset}. Values are in the byte order of the machines they
     * are on.
     *
     * @param local region with local write access
     * @param remoteAddress a multiple of 8 in a region of the peer with remote atomic access
     * @throws IllegalArgumentException when the 8 bytes are not inside {@code local}, or {@code
     *     local} is without local write access
     */
    public PostResult postCompareAndSwap(
            long wrId,
            MemoryRegion local,
            long offset,
            long remoteAddress,
            int rkey,
            long compare,
            long swap) {
        return postAtomic(Opcode.CMP_SWAP, wrId, local, offset, remoteAddress, rkey, swap, compare);
    }

    /**
     * Fetch and add: adds {@code add}, without a sign and modulo 2^64, to the 64-bit value at
     * {@code remoteAddress}. All else is as of {@link #postCompareAndSwap}.
     */
    public PostResult postFetchAndAdd(
            long wrId, MemoryRegion local, long offset, long remoteAddress, int rkey, long add) {
        return postAtomic(Opcode.FETCH_ADD, wrId, local, offset, remoteAddress, rkey, add, 0);
    }

    private PostResult postAtomic(
            Opcode opcode,
            long wrId,
            MemoryRegion local,
            long offset,
            long remoteAddress,
            int rkey,
            long swapOrAdd,
            long compare) {
        checkWritable(local);
        checkRange(local, offset, Long.BYTES);
        boolean stored =
                stream.sendQueue()
                        .offerAtomic(
                                wrId,
                                opcode.code(),
                                WorkQueue.SIGNALED,
                                local,
                                offset,
                                Long.BYTES,
                                remoteAddress,
                                rkey,
                                swapOrAdd,
                                compare);
        if (!stored) {
            return PostResult.QUEUE_FULL;
        }
        device.ring(stream);
        return PostResult.OK;
    }

    private static void checkWritable(MemoryRegion local) {
        if ((local.access() & Access.LOCAL_WRITE) == 0) {
            throw new IllegalArgumentException(
                    "the local region has access "
                            + Access.describe(local.access())
                            + ": register it with LOCAL_WRITE, replies are stored in it");
        }
    }

    /**
     * Posts a buffer for the next incoming SEND (or for the notice of a WRITE with immediate).
     *
     * @param local region with local write access
     */
    public PostResult postReceive(long wrId, MemoryRegion local, long offset, long length) {
        checkRange(local, offset, length);
        return postReceiveQueue(wrId, local, offset, length);
    }

    /** Posts a receive without a buffer: for WRITE with immediate and zero-length SENDs. */
    public PostResult postReceive(long wrId) {
        return postReceiveQueue(wrId, null, 0, 0);
    }

    private PostResult postReceiveQueue(
            long wrId, @Nullable MemoryRegion local, long offset, long length) {
        boolean stored =
                stream.receiveQueue()
                        .offer(wrId, 0, WorkQueue.SIGNALED, local, offset, length, 0, 0, 0);
        if (!stored) {
            return PostResult.QUEUE_FULL;
        }
        // The engine looks for receives when messages come. A failed pair gets none any more.
        if (stream.missedFlush()) {
            device.ring(stream);
        }
        return PostResult.OK;
    }

    private PostResult postSendQueue(
            Opcode opcode,
            long wrId,
            @Nullable MemoryRegion local,
            long offset,
            long length,
            long remoteAddress,
            int rkey,
            int immediate,
            boolean signaled) {
        if (local != null) {
            checkRange(local, offset, length);
        }
        boolean stored =
                stream.sendQueue()
                        .offer(
                                wrId,
                                opcode.code(),
                                signaled ? WorkQueue.SIGNALED : 0,
                                local,
                                offset,
                                length,
                                remoteAddress,
                                rkey,
                                immediate);
        if (!stored) {
            return PostResult.QUEUE_FULL;
        }
        device.ring(stream);
        return PostResult.OK;
    }

    private static void checkRange(MemoryRegion local, long offset, long length) {
        if (length < 0 || length > MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException(
                    "length " + length + " is not in 0.." + MAX_MESSAGE_BYTES);
        }
        if (offset < 0 || offset > local.length() - length) {
            throw new IllegalArgumentException(
                    "range "
                            + offset
                            + "+"
                            + length
                            + " is not inside the region of "
                            + local.length()
                            + " bytes");
        }
    }
}
