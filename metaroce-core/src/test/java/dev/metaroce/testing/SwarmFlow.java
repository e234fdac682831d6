package dev.metaroce.testing;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * One direction of one stream in a swarm run: a plan of messages, each with its own range of memory
 * at both ends, and the oracles: every request completes once and in order, every receive too, and
 * what was announced is in memory.
 */
final class SwarmFlow {
    private static final int GAP = 8;
    private static final byte CANARY = 0x5C;

    private enum Kind {
        WRITE,
        WRITE_IMM,
        SEND,
        SEND_IMM
    }

    private final String name;
    private final Kind[] kinds;
    private final int[] lengths;
    private final int[] offsets;
    private final boolean[] signaled;
    private final int[] receiveOf;
    private final int[] messageOfReceive;
    private final int poison;
    private final int allReceives;
    private final MemoryRegion source;
    private final MemoryRegion target;
    private final QueuePair from;
    private final QueuePair to;
    private int posted;
    private int completed;
    private int receivesPosted;
    private int received;

    SwarmFlow(
            String name,
            Rng rng,
            SwarmPlan plan,
            ProtectionDomain fromDomain,
            ProtectionDomain toDomain,
            QueuePair from,
            QueuePair to) {
        this.name = name;
        this.from = from;
        this.to = to;
        int n = plan.messages;
        kinds = new Kind[n];
        lengths = new int[n];
        offsets = new int[n];
        signaled = new boolean[n];
        receiveOf = new int[n];
        messageOfReceive = new int[n];
        int receives = 0;
        int bytes = GAP;
        for (int i = 0; i < n; i++) {
            kinds[i] = Kind.values()[rng.nextInt(4)];
            lengths[i] = rng.chance(0.1) ? 0 : rng.nextInt(plan.maxLength + 1);
            offsets[i] = bytes;
            bytes += lengths[i] + GAP;
            signaled[i] = i == n - 1 || i % plan.depth == plan.depth - 1 || rng.chance(0.7);
            receiveOf[i] = -1;
            if (kinds[i] != Kind.WRITE) {
                messageOfReceive[receives] = i;
                receiveOf[i] = receives++;
            }
        }
        allReceives = receives;
        poison = plan.poisoned && rng.chance(0.5) ? aWrite(rng) : n;
        source = fromDomain.register(Arena.ofAuto().allocate(bytes, 8), 0);
        target =
                toDomain.register(
                        Arena.ofAuto().allocate(bytes, 8),
                        Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        target.segment().fill(CANARY);
        MemorySegment data = source.segment();
        for (long i = 0; i < bytes; i++) {
            data.set(ValueLayout.JAVA_BYTE, i, (byte) rng.nextInt());
        }
    }

    /** A WRITE that gets a wrong key, or the number of messages when there is none. */
    private int aWrite(Rng rng) {
        int first = rng.nextInt(kinds.length);
        for (int i = first; i < kinds.length; i++) {
            boolean write = kinds[i] == Kind.WRITE || kinds[i] == Kind.WRITE_IMM;
            if (write && lengths[i] > 0) {
                return i;
            }
        }
        return kinds.length;
    }

    /** Receives that complete: those of messages before the poisoned one. */
    private int receives() {
        int count = 0;
        for (int i = 0; i < poison; i++) {
            count = Math.max(count, receiveOf[i] + 1);
        }
        return count;
    }

    boolean isAllPosted() {
        return posted == kinds.length;
    }

    boolean isDone() {
        return completed == kinds.length && received == receives();
    }

    /**
     * Posts receives and requests as long as the queues take them, at most {@code most} of each.
     */
    void post(int most) {
        postReceives(most);
        for (int i = 0; i < most && posted < kinds.length && postNext(); i++) {
            posted++;
        }
    }

    void postReceives(int most) {
        for (int i = 0; i < most && receivesPosted < allReceives; i++) {
            int message = messageOfReceive[receivesPosted];
            PostResult result =
                    kinds[message] == Kind.WRITE_IMM
                            ? to.postReceive(receivesPosted)
                            : to.postReceive(
                                    receivesPosted, target, offsets[message], lengths[message]);
            if (result != PostResult.OK) {
                return;
            }
            receivesPosted++;
        }
    }

    private boolean postNext() {
        int i = posted;
        long there = target.address() + offsets[i];
        int rkey = target.rkey() + (i == poison ? 1 : 0);
        PostResult result =
                switch (kinds[i]) {
                    case WRITE ->
                            from.postWrite(
                                    i, source, offsets[i], lengths[i], there, rkey, signaled[i]);
                    case WRITE_IMM ->
                            from.postWriteWithImmediate(
                                    i,
                                    source,
                                    offsets[i],
                                    lengths[i],
                                    there,
                                    rkey,
                                    immediate(i),
                                    signaled[i]);
                    case SEND -> from.postSend(i, source, offsets[i], lengths[i], signaled[i]);
                    case SEND_IMM ->
                            from.postSendWithImmediate(
                                    i, source, offsets[i], lengths[i], immediate(i), signaled[i]);
                };
        return result == PostResult.OK;
    }

    private static int immediate(int message) {
        return 0x1234_5678 * (message + 1);
    }

    void onSend(WorkCompletion wc) {
        int expected = completed;
        while (expected < Math.min(posted, poison) && !signaled[expected]) {
            expected++;
        }
        WcStatus status = WcStatus.SUCCESS;
        if (expected >= poison) {
            status = expected == poison ? WcStatus.REMOTE_ACCESS_ERROR : WcStatus.WR_FLUSH_ERROR;
        }
        check(wc.status() == status, "ends with " + status, wc);
        check(expected < posted && wc.wrId() == expected, "completes in post order", wc);
        check(
                wc.byteLength() == (expected < poison ? lengths[expected] : 0),
                "tells its length",
                wc);
        completed = expected + 1;
    }

    void onReceive(WorkCompletion wc) {
        if (wc.status() == WcStatus.WR_FLUSH_ERROR
                && received >= receives()
                && poison < kinds.length) {
            return;
        }
        check(received < receivesPosted && wc.wrId() == received, "receives in order", wc);
        int message = messageOfReceive[received++];
        check(wc.status() == WcStatus.SUCCESS, "receives well", wc);
        check(wc.byteLength() == lengths[message], "receives all of it", wc);
        boolean imm = kinds[message] != Kind.SEND;
        check(wc.hasImmediate() == imm, "has an immediate or not", wc);
        check(!imm || wc.immediate() == immediate(message), "carries its immediate", wc);
        boolean write = kinds[message] == Kind.WRITE_IMM;
        check((wc.opcode() == WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE) == write, "tells its kind", wc);
        // What came before it on the stream is in memory now, writes included.
        for (int i = Math.max(0, message - 8); i <= message; i++) {
            checkPlaced(i);
        }
    }

    /** All messages are in memory and nothing else is. */
    void checkMemory() {
        for (int i = 0; i < kinds.length; i++) {
            if (i < poison) {
                checkPlaced(i);
            }
            for (int j = offsets[i] - GAP; j < offsets[i]; j++) {
                checkCanary(j);
            }
        }
    }

    private void checkCanary(int at) {
        if (target.segment().get(ValueLayout.JAVA_BYTE, at) != CANARY) {
            throw new AssertionError(name + ": byte " + at + " between messages was written");
        }
    }

    private void checkPlaced(int message) {
        long at = offsets[message];
        long end = at + lengths[message];
        long bad = MemorySegment.mismatch(source.segment(), at, end, target.segment(), at, end);
        if (bad >= 0) {
            throw new AssertionError(
                    name + ": byte " + bad + " of message " + message + " is not what was sent");
        }
    }

    private void check(boolean ok, String what, WorkCompletion wc) {
        if (!ok) {
            throw new AssertionError(name + ": not so: " + what + ": " + wc + " in " + this);
        }
    }

    @Override
    public String toString() {
        return name
                + " posted "
                + posted
                + " completed "
                + completed
                + " of "
                + kinds.length
                + ", receives posted "
                + receivesPosted
                + " done "
                + received
                + " of "
                + receives()
                + (from.inError() ? ", sender in error" : "")
                + (to.inError() ? ", receiver in error" : "");
    }

    /** Hands completions to the flows they belong to. */
    static void drain(CompletionQueue queue, java.util.function.Consumer<WorkCompletion> sink) {
        WorkCompletion wc = new WorkCompletion();
        while (queue.poll(wc)) {
            sink.accept(wc);
        }
    }
}
