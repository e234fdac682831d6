package dev.metaroce.sim.swarm;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;

import org.jspecify.annotations.Nullable;

/**
 * One direction of one stream for one round: a plan of messages and the oracles for their
 * completions. Every request completes once, in post order and with the right status; every
 * receive, too; and what was announced is in memory.
 */
final class SwarmStream {
    private enum Kind {
        WRITE,
        WRITE_IMM,
        SEND,
        SEND_IMM,
        /** Reads what the message before it put there. */
        READ,
        FETCH_ADD,
        COMPARE_SWAP;

        /** True for those whose payload goes to the target. */
        boolean pushes() {
            return ordinal() <= SEND_IMM.ordinal();
        }

        WcOpcode opcode() {
            return switch (this) {
                case WRITE, WRITE_IMM -> WcOpcode.WRITE;
                case SEND, SEND_IMM -> WcOpcode.SEND;
                case READ -> WcOpcode.READ;
                case FETCH_ADD -> WcOpcode.FETCH_ADD;
                case COMPARE_SWAP -> WcOpcode.COMPARE_SWAP;
            };
        }
    }

    private final String name;
    private final StreamMemory memory;
    private final int firstNumber;
    private final long firstCount;
    private final QueuePair from;
    private @Nullable QueuePair to;

    private final Kind[] kinds;
    private final int[] lengths;
    private final boolean[] signaled;

    /** By message: what the counter is once it and all before it are done. */
    private final long[] counts;

    /** By message: which receive it takes; by receive: whose message it gets. */
    private final int[] receiveOf;

    private final int[] messageOfReceive;
    private final int poison;
    private final int poisonKind;
    private int receives;

    private int posted;
    private int completed;
    private int succeeded;
    private boolean failed;
    private int receivesPosted;
    private int received;
    private int receivesEnded;
    private boolean excused;
    private boolean stopped;

    /**
     * @param firstNumber number of the first message among all that use this memory
     */
    SwarmStream(
            String name,
            Rng rng,
            SwarmPlan plan,
            StreamMemory memory,
            int firstNumber,
            QueuePair from) {
        this.name = name;
        this.memory = memory;
        this.firstNumber = firstNumber;
        this.from = from;
        int n = plan.messages;
        counts = new long[n];
        firstCount = memory.isAbandoned() ? 0 : memory.count();
        long count = firstCount;
        kinds = new Kind[n];
        lengths = new int[n];
        signaled = new boolean[n];
        receiveOf = new int[n];
        messageOfReceive = new int[n];
        boolean signalsAll = rng.chance(0.5);
        // One that waits for a slot waits for a read of it, too, which may be one behind.
        int period = Math.clamp(memory.slots() - 1, 1, plan.depth);
        for (int i = 0; i < n; i++) {
            kinds[i] = kind(rng, plan, i);
            lengths[i] = length(rng, plan, i);
            count += kinds[i] == Kind.FETCH_ADD || kinds[i] == Kind.COMPARE_SWAP ? i + 1 : 0;
            counts[i] = count;
            boolean needed = i == n - 1 || i % period == period - 1;
            signaled[i] = signalsAll || needed || isAtomic(i) || rng.chance(0.3);
            receiveOf[i] = -1;
            if (kinds[i].pushes() && kinds[i] != Kind.WRITE) {
                messageOfReceive[receives] = i;
                receiveOf[i] = receives++;
            }
        }
        poison = rng.chance(plan.poisoned) ? aWrite(rng.nextInt(n)) : n;
        // A long WRITE is cut, and only the parts that are out of bounds are refused.
        boolean whole = poison == n || kinds[poison] == Kind.WRITE_IMM;
        poisonKind = whole ? rng.nextInt(2) : 0;
    }

    private Kind kind(Rng rng, SwarmPlan plan, int message) {
        if (message > 0 && rng.chance(plan.pulling)) {
            boolean reads = kinds[message - 1].pushes() && rng.chance(0.6);
            return reads ? Kind.READ : rng.chance(0.7) ? Kind.FETCH_ADD : Kind.COMPARE_SWAP;
        }
        return Kind.values()[rng.nextInt(4)];
    }

    private int length(Rng rng, SwarmPlan plan, int message) {
        return switch (kinds[message]) {
            case READ -> lengths[message - 1];
            case FETCH_ADD, COMPARE_SWAP -> Long.BYTES;
            case WRITE, WRITE_IMM, SEND, SEND_IMM -> plan.length(rng);
        };
    }

    private boolean isAtomic(int message) {
        return kinds[message] == Kind.FETCH_ADD || kinds[message] == Kind.COMPARE_SWAP;
    }

    /** A WRITE from {@code first} on that gets a wrong key, or the number of messages. */
    private int aWrite(int first) {
        for (int i = first; i < kinds.length; i++) {
            if ((kinds[i] == Kind.WRITE || kinds[i] == Kind.WRITE_IMM) && lengths[i] > 0) {
                return i;
            }
        }
        return kinds.length;
    }

    /** The other end is there. */
    void accepted(QueuePair receiver) {
        to = receiver;
    }

    /** From now on it may fail: a peer died, was cut off, or closed without waiting. */
    void excuse() {
        excused = true;
    }

    /** Nothing is posted any more. */
    void stop() {
        stopped = true;
    }

    boolean isAllPosted() {
        return posted == kinds.length || failed || stopped;
    }

    /** All that will ever complete did; also that the peer has its messages. */
    boolean isDone() {
        return isAllPosted() && isSettled() && received == receivesDue();
    }

    /** No completion is due; of unsignaled requests none comes when they succeed. */
    boolean isSettled() {
        for (int i = completed; i < posted; i++) {
            if (signaled[i]) {
                return false;
            }
        }
        return true;
    }

    /** Ended as planned, with nothing in doubt. */
    boolean isClean() {
        return isDone() && !failed && completed == posted;
    }

    /** Bytes of the messages that completed well, of those whose payload goes to the target. */
    long bytes() {
        long sum = 0;
        for (int i = 0; i < succeeded; i++) {
            sum += kinds[i].pushes() ? lengths[i] : 0;
        }
        return sum;
    }

    /** Messages that completed well. */
    int succeeded() {
        return succeeded;
    }

    /** Receives that complete well: those of messages before the refused one. */
    private int receivesDue() {
        return receivesOf(Math.min(poison, stopped ? posted : kinds.length));
    }

    /** Receives that the first messages take. */
    private int receivesOf(int first) {
        for (int i = first - 1; i >= 0; i--) {
            if (receiveOf[i] >= 0) {
                return receiveOf[i] + 1;
            }
        }
        return 0;
    }

    // Posting

    /** The message that had the slot before is over and done with at both ends, and was read. */
    private boolean isSlotFree(int message) {
        int before = message - memory.slots();
        if (before < 0) {
            return true;
        }
        int reader = before + 1 < message && kinds[before + 1] == Kind.READ ? before + 1 : before;
        return completed > reader && (receiveOf[before] < 0 || received > receiveOf[before]);
    }

    /** Posts at most so many requests; returns how many. */
    int post(int most) {
        int n = 0;
        while (n < most && !isAllPosted() && isSlotFree(posted)) {
            if (kinds[posted].pushes()) {
                memory.write(name, firstNumber + posted, posted, lengths[posted]);
            }
            if (postNext() != PostResult.OK) {
                break;
            }
            posted++;
            n++;
        }
        return n;
    }

    private PostResult postNext() {
        int i = posted;
        long at = memory.offset(i);
        boolean bad = i == poison;
        long there = memory.target.address() + at;
        if (bad && poisonKind == 1) {
            there = memory.target.address() + memory.target.length() - lengths[i] + 1;
        }
        int rkey = memory.target.rkey() + (bad && poisonKind == 0 ? 1 : 0);
        int length = lengths[i];
        boolean tell = signaled[i];
        int imm = immediate(i);
        return switch (kinds[i]) {
            case WRITE -> from.postWrite(i, memory.source, at, length, there, rkey, tell);
            case WRITE_IMM ->
                    from.postWriteWithImmediate(
                            i, memory.source, at, length, there, rkey, imm, tell);
            case SEND -> from.postSend(i, memory.source, at, length, tell);
            case SEND_IMM -> from.postSendWithImmediate(i, memory.source, at, length, imm, tell);
            case READ -> {
                long earlier = memory.target.address() + memory.offset(i - 1);
                long to = memory.fetchedOffset(i);
                yield from.postRead(i, memory.fetched, to, length, earlier, rkey, tell);
            }
            case FETCH_ADD, COMPARE_SWAP -> postAtomic(i);
        };
    }

    private PostResult postAtomic(int i) {
        MemoryRegion counter = memory.counter;
        long to = memory.fetchedOffset(i);
        if (kinds[i] == Kind.FETCH_ADD) {
            return from.postFetchAndAdd(
                    i, memory.fetched, to, counter.address(), counter.rkey(), i + 1L);
        }
        return from.postCompareAndSwap(
                i,
                memory.fetched,
                to,
                counter.address(),
                counter.rkey(),
                countBefore(i),
                counts[i]);
    }

    private long countBefore(int message) {
        return message == 0 ? firstCount : counts[message - 1];
    }

    private static int immediate(int message) {
        return 0x1234_5678 * (message + 1);
    }

    /** Posts at most so many receives; returns how many. */
    int postReceives(int most) {
        QueuePair receiver = to;
        int n = 0;
        int end = stopped ? receivesOf(posted) : receives;
        while (receiver != null && n < most && receivesPosted < end) {
            int message = messageOfReceive[receivesPosted];
            if (!isSlotFree(message) || receiver.inError()) {
                break;
            }
            PostResult result =
                    kinds[message] == Kind.WRITE_IMM
                            ? receiver.postReceive(receivesPosted)
                            : receiver.postReceive(
                                    receivesPosted,
                                    memory.target,
                                    memory.offset(message),
                                    lengths[message]);
            if (result != PostResult.OK) {
                break;
            }
            receivesPosted++;
            n++;
        }
        return n;
    }

    // Oracles

    void onSend(WorkCompletion wc) {
        int id = (int) wc.wrId();
        check(id >= completed && id < posted, "completes once and in post order", wc);
        boolean success = wc.status() == WcStatus.SUCCESS;
        check(!(success && failed), "nothing succeeds after a failure", wc);
        for (int skipped = completed; skipped < id; skipped++) {
            check(!failed && !signaled[skipped], "only unsignaled requests are silent", wc);
            check(skipped != poison, "a refused request is told of", wc);
        }
        check(wc.byteLength() == (success ? lengths[id] : 0), "tells its length", wc);
        check(wc.opcode() == kinds[id].opcode(), "tells its kind", wc);
        if (success) {
            check(signaled[id], "unsignaled successes are silent", wc);
            check(id < poison, "a wrong key is refused", wc);
        } else {
            checkFailure(id, wc);
        }
        int well = success ? id + 1 : failed ? succeeded : id;
        for (int i = completed; i < well; i++) {
            checkArrived(i);
            checkFetched(i);
        }
        succeeded = well;
        failed |= !success;
        completed = id + 1;
    }

    private void checkFailure(int id, WorkCompletion wc) {
        WcStatus status = wc.status();
        if (failed) {
            check(status == WcStatus.WR_FLUSH_ERROR, "what follows a failure is flushed", wc);
        } else if (id == poison) {
            check(
                    status == WcStatus.REMOTE_ACCESS_ERROR || excused,
                    "is refused for its access",
                    wc);
        } else {
            check(excused, "fails for a reason", wc);
        }
    }

    void onReceive(WorkCompletion wc) {
        int id = (int) wc.wrId();
        check(id == receivesEnded && id < receivesPosted, "receives once and in order", wc);
        receivesEnded++;
        if (wc.status() == WcStatus.WR_FLUSH_ERROR) {
            check(id >= receivesDue() || excused || failed, "is not flushed", wc);
            return;
        }
        check(id == received, "nothing is received after a flush", wc);
        received++;
        int message = messageOfReceive[id];
        check(wc.status() == WcStatus.SUCCESS, "receives well", wc);
        check(message < poison, "nothing behind a refused request is received", wc);
        check(wc.byteLength() == lengths[message], "receives all of it", wc);
        boolean imm = kinds[message] != Kind.SEND;
        check(wc.hasImmediate() == imm, "has an immediate or not", wc);
        check(!imm || wc.immediate() == immediate(message), "carries its immediate", wc);
        boolean write = kinds[message] == Kind.WRITE_IMM;
        check((wc.opcode() == WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE) == write, "tells its kind", wc);
        // What came before it on the stream is in memory now, writes included.
        for (int i = Math.max(completed, message - memory.slots() + 1); i <= message; i++) {
            checkArrived(i);
        }
    }

    private void checkFetched(int message) {
        if (kinds[message] == Kind.READ) {
            memory.read(name, message, firstNumber + message - 1, lengths[message]);
        } else if (isAtomic(message) && memory.oldCount(message) != countBefore(message)) {
            throw new Objection(
                    "%s: atomic %d found %d, not %d: not each one before it was done once"
                            .formatted(
                                    name, message, memory.oldCount(message), countBefore(message)));
        }
    }

    /** Each atomic was done once, or not at all from one on that nobody was told to be done. */
    void checkCount() {
        if (memory.isAbandoned()) {
            return;
        }
        long count = memory.count();
        for (int done = succeeded; done <= posted; done++) {
            if (count == (done == 0 ? firstCount : counts[done - 1])) {
                return;
            }
        }
        throw new Objection("%s: the counter is %d in %s".formatted(name, count, this));
    }

    private void checkArrived(int message) {
        if (kinds[message].pushes() && memory.isOpen(firstNumber + message, message)) {
            memory.arrived(name, firstNumber + message, message, lengths[message]);
        }
    }

    private void check(boolean ok, String what, WorkCompletion wc) {
        if (!ok) {
            String why = from.connection().failure();
            throw new Objection(
                    "%s: not so: %s: %s%s in %s"
                            .formatted(name, what, wc, why.isEmpty() ? "" : ", " + why, this));
        }
    }

    @Override
    public String toString() {
        return "%s: %d of %d posted, %d completed%s; receives: %d of %d posted, %d done%s%s"
                .formatted(
                        name,
                        posted,
                        kinds.length,
                        completed,
                        failed ? ", failed" : "",
                        receivesPosted,
                        receives,
                        received,
                        excused ? ", excused" : "",
                        poison < kinds.length ? ", wrong key at " + poison : "");
    }
}
