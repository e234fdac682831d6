package dev.metaroce.testing;

import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.QueuePair;

/**
 * Keeps one stream of a {@link Pair} busy with equal WRITEs to the same place, and counts what
 * completed, so that a test can measure rates in virtual time.
 */
public final class Sender {
    private final Pair pair;
    private final QueuePair qp;
    private final int messageBytes;
    private final long offset;
    private final int depth;
    private long posted;
    private long completed;

    /** Messages of {@code messageBytes} on stream {@code stream}, at most {@code depth} at once. */
    public Sender(Pair pair, int stream, int messageBytes, int depth) {
        this.pair = pair;
        this.messageBytes = messageBytes;
        this.depth = depth;
        qp = pair.clientEnd.pairs.get(stream);
        offset = (long) stream * messageBytes;
    }

    /** Call after {@code pair.clientEnd.poll()}, with every completion there is. */
    public boolean take(WorkCompletion wc) {
        if (wc.owner() != qp) {
            return false;
        }
        if (wc.status() != WcStatus.SUCCESS) {
            throw new AssertionError(
                    wc + " " + pair.clientEnd.connection.failure() + pair.lab.dump());
        }
        completed++;
        return true;
    }

    public void post() {
        while (posted - completed < depth) {
            PostResult result =
                    qp.postWrite(
                            posted,
                            pair.clientEnd.region,
                            offset,
                            messageBytes,
                            pair.serverEnd.region.address() + offset,
                            pair.serverEnd.region.rkey());
            if (result != PostResult.OK) {
                return;
            }
            posted++;
        }
    }

    public long completed() {
        return completed;
    }

    public long completedBytes() {
        return completed * messageBytes;
    }

    /** Runs all senders of a pair for a while; returns the bytes each completed in it. */
    public static long[] run(Pair pair, long forNs, Sender... senders) {
        long[] before = new long[senders.length];
        for (int i = 0; i < senders.length; i++) {
            before[i] = senders[i].completedBytes();
        }
        long end = pair.lab.nowNs() + forNs;
        while (pair.lab.nowNs() - end < 0) {
            for (Sender sender : senders) {
                sender.post();
            }
            if (!pair.lab.step()) {
                throw new AssertionError("nothing happens any more" + pair.lab.dump());
            }
            pair.clientEnd.poll();
            for (WorkCompletion wc : pair.clientEnd.sends) {
                boolean taken = false;
                for (Sender sender : senders) {
                    taken |= sender.take(wc);
                }
                if (!taken) {
                    throw new AssertionError("a completion of nobody: " + wc);
                }
            }
            pair.clientEnd.sends.clear();
        }
        long[] bytes = new long[senders.length];
        for (int i = 0; i < senders.length; i++) {
            bytes[i] = senders[i].completedBytes() - before[i];
        }
        return bytes;
    }
}
