package dev.metaroce.tools.perf;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;

/** READs or atomics, one at a time: a round is over with its completion. */
final class Pulls implements Rounds {
    private final Peer peer;
    private final long messageBytes;
    private final WorkCompletion completion = new WorkCompletion();
    private long posted;
    private long completed;

    Pulls(Peer peer, long messageBytes) {
        this.peer = peer;
        this.messageBytes = messageBytes;
    }

    /** perftest reports all of the time to the completion. */
    @Override
    public double share() {
        return LatencyMeter.WHOLE;
    }

    @Override
    public boolean canSend() {
        return isDrained();
    }

    @Override
    public void send() {
        peer.post(0, ++posted, messageBytes, true);
    }

    @Override
    public boolean hasArrived() {
        if (!peer.sends.poll(completion)) {
            return false;
        }
        if (completion.status() != WcStatus.SUCCESS) {
            throw peer.failure("message " + completion.wrId(), completion);
        }
        completed++;
        return true;
    }

    @Override
    public boolean isOver() {
        return isDrained();
    }

    @Override
    public boolean isDrained() {
        return posted == completed;
    }
}
