package dev.metaroce.tools.perf;

import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.verbs.QueuePair;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The client's loop of a bandwidth test: keeps every queue pair filled to the transmit depth until
 * all messages are posted or the time is over, then waits for the rest. One thread; in inline mode
 * that thread also moves the packets of all initiators.
 */
final class BandwidthRun {
    /** Longer silence than any give-up time of the transport: then something is badly wrong. */
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(60);

    /** Bytes outstanding per queue pair, so that a run with a duration ends soon after it. */
    private static final long OUTSTANDING_BYTES_MAX = 256 << 20;

    private final List<Peer> peers;
    private final long messageBytes;
    private final int txDepth;
    private final long iterations;
    private final long durationNs;
    private final BandwidthMeter meter;
    private final long[][] posted;
    private final long[][] completed;
    private final Idle idle = new Idle();
    private boolean closed;

    /**
     * @param iterations messages per queue pair, ignored with a duration
     * @param durationNs how long to post, 0 for a number of messages
     */
    BandwidthRun(List<Peer> peers, long messageBytes, long iterations, long durationNs) {
        this.peers = peers;
        this.messageBytes = messageBytes;
        this.durationNs = durationNs;
        this.iterations = durationNs > 0 ? Long.MAX_VALUE : iterations;
        PerfParameters parameters = peers.getFirst().parameters;
        txDepth = effectiveDepth(parameters.txDepth(), messageBytes);
        int qps = parameters.qps();
        meter = new BandwidthMeter(durationNs > 0 ? 0 : iterations * qps * peers.size());
        posted = new long[peers.size()][qps];
        completed = new long[peers.size()][qps];
    }

    /** The transmit depth, less for messages of many megabytes, but never below 2. */
    static int effectiveDepth(int txDepth, long messageBytes) {
        return Math.clamp(OUTSTANDING_BYTES_MAX / messageBytes, Math.min(2, txDepth), txDepth);
    }

    BandwidthMeter run() {
        long startNs = System.nanoTime();
        long progressNs = startNs;
        while (!isDone()) {
            long before = meter.completions();
            int moved = 0;
            for (int i = 0; i < peers.size(); i++) {
                Peer peer = peers.get(i);
                moved += peer.device.progress();
                reap(i, peer);
                post(i, peer);
            }
            long nowNs = System.nanoTime();
            closed = durationNs > 0 && nowNs - startNs >= durationNs;
            if (meter.completions() != before) {
                progressNs = nowNs;
                idle.reset();
            } else if (moved == 0) {
                checkStall(nowNs - progressNs);
                idle.pause(true);
            }
        }
        return meter;
    }

    private boolean isDone() {
        if (durationNs > 0) {
            return closed && meter.posts() == meter.completions();
        }
        return meter.completions() == iterations * posted[0].length * posted.length;
    }

    private void post(int index, Peer peer) {
        long[] sent = posted[index];
        long[] done = completed[index];
        for (int q = 0; q < sent.length; q++) {
            while (!closed && sent[q] < iterations && sent[q] - done[q] < txDepth) {
                if (postOne(peer, q) != PostResult.OK) {
                    break;
                }
                meter.onPost(System.nanoTime());
                sent[q]++;
            }
        }
    }

    private PostResult postOne(Peer peer, int q) {
        QueuePair pair = peer.pairs[q];
        if (peer.parameters.test().isSend()) {
            return pair.postSend(q, peer.memory(), 0, messageBytes);
        }
        long slot = q % peer.parameters.slots();
        long target = peer.remote().address() + slot * peer.parameters.maxMessageBytes();
        return pair.postWrite(q, peer.memory(), 0, messageBytes, target, peer.remote().rkey());
    }

    private void reap(int index, Peer peer) {
        while (peer.sends.poll(peer.completion)) {
            if (peer.completion.status() != WcStatus.SUCCESS) {
                throw peer.failure(
                        "message of "
                                + messageBytes
                                + " B on queue pair "
                                + peer.completion.wrId());
            }
            completed[index][(int) peer.completion.wrId()]++;
            meter.onCompletion(System.nanoTime());
        }
    }

    private void checkStall(long silentNs) {
        if (silentNs > STALL_NS) {
            throw ToolException.failed(
                    "no completion for %d s with %d of %d messages done: the peer hangs"
                            .formatted(
                                    TimeUnit.NANOSECONDS.toSeconds(silentNs),
                                    meter.completions(),
                                    meter.posts()));
        }
    }
}
