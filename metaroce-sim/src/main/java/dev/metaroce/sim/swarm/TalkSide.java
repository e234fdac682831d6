package dev.metaroce.sim.swarm;

import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.RdmaDevice;

import java.util.ArrayList;
import java.util.List;

/** One end of a connection: its queue pairs and the queues where their work completes. */
final class TalkSide {
    final Connection connection;
    final List<QueuePair> pairs = new ArrayList<>();

    /** What it sends and what it receives; both ends share them. */
    List<SwarmStream> outgoing = List.of();

    List<SwarmStream> incoming = List.of();
    private final CompletionQueue sends;
    private final CompletionQueue receives;
    private final WorkCompletion completion = new WorkCompletion();

    TalkSide(RdmaDevice device, ProtectionDomain domain, Connection connection, SwarmPlan plan) {
        this.connection = connection;
        int entries = plan.streams * plan.depth;
        sends = device.createCompletionQueue(entries);
        receives = device.createCompletionQueue(entries);
        QueuePairOptions.Builder options =
                QueuePairOptions.of(sends, receives)
                        .sendDepth(plan.depth)
                        .receiveDepth(plan.depth)
                        .minRnrTimerUs(plan.rnrTimerUs);
        if (plan.retriesForEver) {
            options.rnrRetry(QueuePairOptions.FOR_EVER);
        }
        for (int i = 0; i < plan.streams; i++) {
            pairs.add(connection.createQueuePair(domain, options.build()));
        }
    }

    boolean isEnded() {
        return connection.state() == ConnectionState.CLOSED || hasFailed();
    }

    boolean hasFailed() {
        return connection.state() == ConnectionState.FAILED;
    }

    /** Hands completions to the oracles of their streams; returns how many there were. */
    int poll(Journal journal) {
        int n = 0;
        for (; sends.poll(completion); n++) {
            note(journal);
            outgoing.get(stream()).onSend(completion);
        }
        for (; receives.poll(completion); n++) {
            note(journal);
            incoming.get(stream()).onReceive(completion);
        }
        return n;
    }

    private int stream() {
        return ((QueuePair) completion.owner()).streamId();
    }

    private void note(Journal journal) {
        journal.mix(completion.wrId());
        journal.mix(completion.status().ordinal());
        journal.mix(completion.byteLength());
    }

    /** Posts what it may at this end: requests, and receives for those of the peer. */
    int post(int most) {
        int n = 0;
        for (SwarmStream stream : incoming) {
            n += stream.postReceives(most);
        }
        for (SwarmStream stream : outgoing) {
            n += stream.post(most);
        }
        return n;
    }
}
