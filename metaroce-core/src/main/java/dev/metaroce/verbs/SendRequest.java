package dev.metaroce.verbs;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.ring.WorkRequest;
import dev.metaroce.wire.Opcode;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A request for a send queue (as {@code ibv_send_wr}): the operation, its local memory, and what
 * else it needs. Say what is wanted, {@linkplain QueuePair#post(SendRequest) post} it, change it
 * and post it again: a post stores what the request says then, and allocates nothing. One thread at
 * a time; the buffers belong to the device until the request completed, the object never does.
 *
 * <pre>{@code
 * SendRequest request = new SendRequest();
 * request.write(remote.address(), remote.rkey()).local(header, 0, 64).add(body, 0, 4096);
 * qp.post(request.wrId(7));
 * }</pre>
 *
 * <p>Everything stays as it was said last. A new request has no operation, no memory, number 0, and
 * asks for a completion.
 */
public final class SendRequest extends WorkRequest {
    /** RDMA WRITE to memory of the peer; its application is not told. */
    public SendRequest write(long address, int key) {
        return operation(Opcode.WRITE, address, key, 0);
    }

    /** RDMA WRITE that takes a receive of the peer and hands it 32 bits. */
    public SendRequest writeWithImmediate(long address, int key, int value) {
        return operation(Opcode.WRITE_IMM, address, key, value);
    }

    /** SEND into the peer's next posted receive. */
    public SendRequest send() {
        return operation(Opcode.SEND, 0, 0, 0);
    }

    /** SEND that hands 32 bits to the receive completion. */
    public SendRequest sendWithImmediate(int value) {
        return operation(Opcode.SEND_IMM, 0, 0, value);
    }

    /**
     * SEND that takes the remote rights from a region of the peer: when its receive completes, the
     * key works for nobody any more. The region must be of the peer queue pair's domain.
     */
    public SendRequest sendWithInvalidate(int key) {
        return operation(Opcode.SEND_INV, 0, 0, key);
    }

    /**
     * RDMA READ: copies memory of the peer to the local memory, which needs local write access. It
     * sees what earlier requests of this queue pair did; the peer's application is not told.
     */
    public SendRequest read(long address, int key) {
        return operation(Opcode.READ_REQ, address, key, 0);
    }

    /**
     * Compare and swap: when the 64-bit value at {@code address} equals {@code expected}, {@code
     * desired} takes its place, in one step for everyone. The value that was there is stored in the
     * local memory, 8 bytes. Values are in the byte order of the machines they are on.
     *
     * @param address a multiple of 8 in a region of the peer with remote atomic access
     */
    public SendRequest compareAndSwap(long address, int key, long expected, long desired) {
        compare = expected;
        swapOrAdd = desired;
        return operation(Opcode.CMP_SWAP, address, key, 0);
    }

    /**
     * Fetch and add: adds {@code add}, modulo 2^64, to the 64-bit value at {@code address}. All
     * else is as of {@link #compareAndSwap}.
     */
    public SendRequest fetchAndAdd(long address, int key, long add) {
        compare = 0;
        swapOrAdd = add;
        return operation(Opcode.FETCH_ADD, address, key, 0);
    }

    private SendRequest operation(Opcode opcode, long address, int key, int value) {
        operation = opcode.code();
        stores = opcode.isPull();
        atomic = opcode.isAtomic();
        remoteAddress = address;
        rkey = key;
        immediate = value;
        return this;
    }

    /** The caller's own number, returned by the completion. */
    public SendRequest wrId(long id) {
        wrId = id;
        return this;
    }

    /** The local memory is this one piece, in place of whatever was said before. */
    public SendRequest local(MemoryRegion region, long offset, long length) {
        clearPieces();
        addPiece(region, offset, length);
        return this;
    }

    /**
     * One more piece of local memory, behind those said before.
     *
     * @throws IllegalArgumentException when there are {@value WorkRequest#MAX_SGE} already
     */
    public SendRequest add(MemoryRegion region, long offset, long length) {
        addPiece(region, offset, length);
        return this;
    }

    /** No local memory: the message is empty. */
    public SendRequest empty() {
        clearPieces();
        return this;
    }

    /**
     * The payload is copied at the post, from any memory, registered or not; the buffer is free
     * again when the post returns. In place of local memory that was said before.
     *
     * @param payload at most as long as the queue pair's {@code maxInline}
     */
    public SendRequest inline(MemorySegment payload) {
        clearPieces();
        inlineData = payload;
        flags |= WorkQueue.INLINE;
        return this;
    }

    /** {@link #inline(MemorySegment)} of a whole array. */
    public SendRequest inline(byte[] payload) {
        return inline(MemorySegment.ofArray(payload));
    }

    /** {@link #inline(MemorySegment)} of what remains of a buffer; its position stays. */
    public SendRequest inline(ByteBuffer payload) {
        return inline(MemorySegment.ofBuffer(payload));
    }

    /** True, as at first, for a completion in any case; false for one in case of an error only. */
    public SendRequest signaled(boolean wanted) {
        return flag(WorkQueue.SIGNALED, wanted);
    }

    /** True to start only when all earlier reads and atomics of the queue pair are done. */
    public SendRequest fence(boolean wanted) {
        return flag(WorkQueue.FENCE, wanted);
    }

    private SendRequest flag(int flag, boolean wanted) {
        flags = wanted ? flags | flag : flags & ~flag;
        return this;
    }

    boolean hasOperation() {
        return operation != 0;
    }
}
