package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.AccessVerdict;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Opcode;

/**
 * Executes READs and atomics for peers, each when every earlier message of its stream is complete.
 * It keeps nothing of a READ, which is simply executed again when its reply was lost; of an atomic
 * operation it keeps the result, in the slot that the initiator took for it. Owner: the engine
 * thread.
 */
final class PullServer {
    private final DeviceState device;
    private final RxContexts contexts;
    private final AckBuilder acks;
    private final DeferredPulls deferred;
    private final PullRequest next = new PullRequest();

    PullServer(DeviceState device, RxContexts contexts, AckBuilder acks) {
        this.device = device;
        this.contexts = contexts;
        this.acks = acks;
        deferred = contexts.deferred();
    }

    /** What becomes of a request that is new; nothing is touched yet. */
    Verdict check(Stream stream, PullRequest request) {
        if (!isInRange(request)) {
            return Verdict.INVALID;
        }
        if (stream.received.ahead(request.msn) == 0) {
            return checkAccess(stream, request);
        }
        //= MR-4.6-13
        return deferred.isFull() ? Verdict.NOT_READY : Verdict.ACCEPTED;
    }

    private boolean isInRange(PullRequest request) {
        //= MR-4.6-1
        return request.bytes <= device.limits.payloadMtu()
                && (request.slot == DataHeader.NO_SLOT || contexts.isMessageSlot(request.slot));
    }

    private Verdict checkAccess(Stream stream, PullRequest request) {
        boolean atomic = request.opcode.isAtomic();
        //= MR-4.7-4
        if (atomic && (request.va & (DataHeader.ATOMIC_BYTES - 1)) != 0) {
            return Verdict.MISALIGNED;
        }
        if (request.length == 0) {
            //= MR-4.1-4
            return Verdict.ACCEPTED;
        }
        MemoryRegion region = device.regions.lookup(request.rkey);
        int right = atomic ? Access.REMOTE_ATOMIC : Access.REMOTE_READ;
        //= MR-4.6-14, MR-4.7-1
        AccessVerdict access =
                RegionTable.check(region, right, stream.domain(), request.va, request.length);
        return access == AccessVerdict.OK ? Verdict.ACCEPTED : Verdict.ACCESS;
    }

    /**
     * A new request that passed {@link #check} and was counted: executed, or kept for its turn.
     *
     * @return true when its message is complete with it
     */
    boolean accept(Stream stream, PullRequest request) {
        //= MR-4.6-15
        if (stream.received.ahead(request.msn) == 0) {
            return execute(stream, request);
        }
        device.counters.increment(CounterId.READS_DEFERRED);
        deferred.add(stream, request);
        return false;
    }

    /**
     * Executes what waited for its turn and has it now.
     *
     * @return true when the message whose turn it is is complete with that
     */
    boolean executeDeferred(Stream stream) {
        while (deferred.take(stream, next)) {
            Verdict verdict = checkAccess(stream, next);
            if (verdict != Verdict.ACCEPTED) {
                refuse(verdict, next);
            } else if (execute(stream, next)) {
                return true;
            }
        }
        return false;
    }

    private void refuse(Verdict verdict, PullRequest request) {
        device.counters.increment(CounterId.ACCESS_REFUSED);
        acks.refuse(Responder.codeOf(verdict), request);
    }

    /** True when the message is complete with it. */
    private boolean execute(Stream stream, PullRequest request) {
        if (request.opcode.isAtomic()) {
            return executeAtomic(request);
        }
        acks.replies().add(request);
        if (request.slot == DataHeader.NO_SLOT) {
            return true;
        }
        int cid = request.cid();
        long counted =
                contexts.countMessage(cid, request.slot, stream.id(), request.msn, request.bytes);
        if (counted < request.length) {
            return false;
        }
        contexts.closeMessage(cid, request.slot);
        return true;
    }

    private boolean executeAtomic(PullRequest request) {
        long[] results = contexts.atomicResults(request.cid());
        int at = 2 * request.slot;
        MemoryRegion region = device.regions.lookup(request.rkey);
        boolean swaps = request.opcode == Opcode.CMP_SWAP;
        if (region == null
                || !MemoryRegion.atomic(
                        region,
                        request.va,
                        swaps,
                        request.swapOrAdd,
                        request.compare,
                        results,
                        at + 1)) {
            refuse(Verdict.ACCESS, request);
            return false;
        }
        results[at] = tag(request);
        device.counters.increment(CounterId.ATOMICS_EXECUTED);
        request.swapOrAdd = results[at + 1];
        acks.replies().add(request);
        return true;
    }

    /** Names an executed operation; 0 names none. */
    private static long tag(PullRequest request) {
        return 1L << 48 | (long) request.stream << 32 | Integer.toUnsignedLong(request.msn);
    }

    /**
     * A request whose packet was received before: its reply may be lost. What waits for its turn is
     * left alone. A READ is executed again, and an atomic operation is answered again.
     *
     * @return true when its message is complete with it: it was refused in its turn
     */
    boolean repeat(Stream stream, PullRequest request) {
        int ahead = stream.received.ahead(request.msn);
        if (ahead > 0 || !isInRange(request)) {
            return false;
        }
        boolean atomic = request.opcode.isAtomic();
        if (atomic && ahead < 0) {
            //= MR-4.7-5
            long[] results = contexts.atomicResults(request.cid());
            if (results[2 * request.slot] == tag(request)) {
                request.swapOrAdd = results[2 * request.slot + 1];
                acks.replies().add(request);
            }
            return false;
        }
        Verdict verdict = checkAccess(stream, request);
        if (verdict != Verdict.ACCEPTED) {
            refuse(verdict, request);
            return false;
        }
        if (atomic) {
            return executeAtomic(request);
        }
        //= MR-4.6-16
        acks.replies().add(request);
        return false;
    }
}
