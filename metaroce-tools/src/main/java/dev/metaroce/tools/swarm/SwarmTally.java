package dev.metaroce.tools.swarm;

import dev.metaroce.sim.swarm.SwarmOutcome;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Sums over the outcomes of a batch. One thread at a time. */
final class SwarmTally {
    /** Seeds that failed, by number. */
    private final List<SwarmOutcome> failed = new ArrayList<>();

    private long seeds;
    private long hash;
    private long events;
    private long messages;
    private long payloadBytes;
    private double simulatedSeconds;

    synchronized void add(SwarmOutcome outcome) {
        seeds++;
        // The order of outcomes differs from run to run, the sum does not.
        hash += outcome.hash();
        events += outcome.events();
        messages += outcome.messages();
        payloadBytes += outcome.payloadBytes();
        simulatedSeconds += outcome.simulatedPs() / 1e12;
        if (!outcome.isClean()) {
            failed.add(outcome);
            failed.sort(Comparator.comparingLong(SwarmOutcome::seed));
        }
    }

    synchronized List<SwarmOutcome> failed() {
        return List.copyOf(failed);
    }

    synchronized long seeds() {
        return seeds;
    }

    synchronized String hash() {
        return "%016x".formatted(hash);
    }

    synchronized long events() {
        return events;
    }

    synchronized long messages() {
        return messages;
    }

    synchronized long payloadBytes() {
        return payloadBytes;
    }

    synchronized double simulatedSeconds() {
        return simulatedSeconds;
    }
}
