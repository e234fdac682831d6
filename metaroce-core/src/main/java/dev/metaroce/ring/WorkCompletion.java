package dev.metaroce.ring;

import org.jspecify.annotations.Nullable;

/**
 * One completion, filled by {@code CompletionQueue.poll}. The object belongs to the caller and is
 * reused from poll to poll, so that polling allocates nothing.
 */
public final class WorkCompletion {
    long wrId;
    WcStatus status = WcStatus.SUCCESS;
    WcOpcode opcode = WcOpcode.WRITE;
    long byteLength;
    int immediate;
    CompletionRing.Extra extra = CompletionRing.Extra.NONE;
    @Nullable Object owner;

    /** The caller's own number, given at post. */
    public long wrId() {
        return wrId;
    }

    public WcStatus status() {
        return status;
    }

    /** Meaningful also when the status is an error. */
    public WcOpcode opcode() {
        return opcode;
    }

    /** Bytes transferred; 0 when the status is an error. */
    public long byteLength() {
        return byteLength;
    }

    /** The 32-bit immediate; 0 without one. */
    public int immediate() {
        return hasImmediate() ? immediate : 0;
    }

    /** True when the message came with an immediate (as {@code IBV_WC_WITH_IMM}). */
    public boolean hasImmediate() {
        return extra == CompletionRing.Extra.IMMEDIATE;
    }

    /** The key that the peer's SEND invalidated; 0 when it invalidated none. */
    public int invalidatedKey() {
        return hasInvalidatedKey() ? immediate : 0;
    }

    /**
     * True when the message took the remote rights from a region (as {@code IBV_WC_WITH_INV}): no
     * peer can use its key any more.
     */
    public boolean hasInvalidatedKey() {
        return extra == CompletionRing.Extra.INVALIDATED;
    }

    /** The queue pair whose work this was, for completion queues that serve several. */
    public Object owner() {
        return java.util.Objects.requireNonNull(owner);
    }

    @Override
    public String toString() {
        return "wc wrId=" + wrId + " " + opcode + " " + status + " " + byteLength + " B";
    }
}
