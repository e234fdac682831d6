package dev.metaroce.testing;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.QueuePair;

/**
 * Keeps one stream of a {@link Pair} busy with equal WRITEs to the same place, and counts what
 * completed, so that a test can measure rates in virtual time.
 */
public final class Sender {
    private static final long MS = 1_000_000;

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

    /** Packets that a client sent for the first time, and again. */
    public record Sent(long first, long again) {}

    /**
     * Case L09: 16 KiB messages over 100 Mb/s, while the delay of the way grows from 1 to 200 ms
     * each way within two seconds.
     *
     * @param pair connected
     * @param depth messages on the way at once
     */
    public static Sent underGrowingDelay(Pair pair, int depth) {
        Sender sender = new Sender(pair, 0, 1 << 14, depth);
        run(pair, 100 * MS, sender);
        long start = pair.lab.nowNs();
        pair.lab.addFault(
                packet -> {
                    long age = Math.min(pair.lab.nowNs() - start, 2_000 * MS);
                    packet.delayNs = MS / 2 + age * 1995 / 20_000;
                    return 1;
                });
        long sent = pair.client.count(CounterId.DATA_SENT);
        long resent = pair.client.count(CounterId.DATA_RESENT);
        run(pair, 3_000 * MS, sender);
        return new Sent(
                pair.client.count(CounterId.DATA_SENT) - sent,
                pair.client.count(CounterId.DATA_RESENT) - resent);
    }

    /** The link of {@link #underGrowingDelay}, to be set before it is connected. */
    public static void slowLink(Pair pair) {
        pair.lab.latencyNs(MS / 2);
        pair.lab.link(100_000_000L, 100 * MS, 400 * MS);
    }
}
