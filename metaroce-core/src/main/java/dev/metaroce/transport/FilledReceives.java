package dev.metaroce.transport;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.wire.Opcode;

import org.jspecify.annotations.Nullable;

/**
 * What arrived for the receives of a stream, from the first packet of a message until the receive
 * is reported: a row for each slot of the receive queue. Owner: the engine thread.
 */
final class FilledReceives {
    private final WorkQueue queue;
    private long[] bytes;
    private int[] immediate;
    private int[] msn;

    /** Code of the operation that filled the receive, 0 until one did. */
    private byte[] opcode;

    /** Regions that messages invalidate when they are reported; null until the first. */
    private @Nullable MemoryRegion @Nullable [] invalidates;

    FilledReceives(WorkQueue queue) {
        this.queue = queue;
        int slots = queue.slots();
        bytes = new long[slots];
        immediate = new int[slots];
        msn = new int[slots];
        opcode = new byte[slots];
    }

    /** The queue has more slots than before; all from {@code oldest} on is kept. */
    void followGrowth(long oldest) {
        int before = bytes.length;
        int slots = queue.slots();
        if (slots == before) {
            return;
        }
        long[] oldBytes = bytes;
        int[] oldImmediate = immediate;
        int[] oldMsn = msn;
        byte[] oldOpcode = opcode;
        @Nullable MemoryRegion @Nullable [] oldInvalidates = invalidates;
        bytes = new long[slots];
        immediate = new int[slots];
        msn = new int[slots];
        opcode = new byte[slots];
        invalidates = oldInvalidates == null ? null : new MemoryRegion[slots];
        for (long seq = oldest; seq < oldest + before; seq++) {
            int to = queue.index(seq);
            int from = (int) seq & (before - 1);
            bytes[to] = oldBytes[from];
            immediate[to] = oldImmediate[from];
            msn[to] = oldMsn[from];
            opcode[to] = oldOpcode[from];
            if (oldInvalidates != null && invalidates != null) {
                invalidates[to] = oldInvalidates[from];
            }
        }
    }

    /** The packet with the immediate came, maybe before others. */
    void immediate(long seq, int value) {
        immediate[queue.index(seq)] = value;
    }

    /** The message takes the remote rights from {@code target} when it is reported. */
    void invalidates(long seq, MemoryRegion target) {
        if (invalidates == null) {
            invalidates = new MemoryRegion[queue.slots()];
        }
        invalidates[queue.index(seq)] = target;
    }

    /** All of the message is there. */
    void fill(long seq, Opcode by, int messageNumber, long messageBytes) {
        int at = queue.index(seq);
        opcode[at] = (byte) by.code();
        msn[at] = messageNumber;
        bytes[at] = messageBytes;
    }

    /** True when the message is there and all before {@code nextMsn} are. */
    boolean isReportable(long seq, int nextMsn) {
        int at = queue.index(seq);
        return opcode[at] != 0 && msn[at] - nextMsn < 0;
    }

    /** Completes the receive. */
    void report(long seq, CompletionRing ring) {
        int at = queue.index(seq);
        Opcode by = Opcode.ofValid(opcode[at]);
        opcode[at] = 0;
        CompletionRing.Extra extra = CompletionRing.Extra.NONE;
        int value = 0;
        if (by.carriesImmediate()) {
            extra = CompletionRing.Extra.IMMEDIATE;
            value = immediate[at];
        } else if (by.invalidates()) {
            extra = CompletionRing.Extra.INVALIDATED;
            value = invalidate(at);
        }
        ring.push(
                queue,
                seq,
                queue.wrId(seq),
                WcStatus.SUCCESS,
                by.hasReth() ? WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE : WcOpcode.RECEIVE,
                bytes[at],
                value,
                extra);
    }

    /** Before the application is told of it. Returns the key that is dead from now on. */
    private int invalidate(int at) {
        //= MR-4.9-6
        MemoryRegion target = invalidates == null ? null : invalidates[at];
        if (target == null) {
            return 0;
        }
        target.revoke();
        return target.rkey();
    }
}
