package dev.metaroce.verbs;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkRequest;

/**
 * A request for a receive queue (as {@code ibv_recv_wr}): where the next message goes. Say it, post
 * it, change it and post it again, as with {@link SendRequest}. Without memory it takes empty
 * messages and WRITEs with immediate.
 */
public final class ReceiveRequest extends WorkRequest {
    public ReceiveRequest() {
        stores = true;
    }

    /** The caller's own number, returned by the completion. */
    public ReceiveRequest wrId(long id) {
        wrId = id;
        return this;
    }

    /**
     * The message goes to this one piece, in place of whatever was said before.
     *
     * @param region with local write access
     */
    public ReceiveRequest local(MemoryRegion region, long offset, long length) {
        clearPieces();
        addPiece(region, offset, length);
        return this;
    }

    /**
     * What does not fit the pieces said before goes to this one.
     *
     * @throws IllegalArgumentException when there are {@value WorkRequest#MAX_SGE} already
     */
    public ReceiveRequest add(MemoryRegion region, long offset, long length) {
        addPiece(region, offset, length);
        return this;
    }

    /** No memory. */
    public ReceiveRequest empty() {
        clearPieces();
        return this;
    }
}
