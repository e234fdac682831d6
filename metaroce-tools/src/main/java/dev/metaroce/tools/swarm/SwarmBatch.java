package dev.metaroce.tools.swarm;

import dev.metaroce.sim.swarm.Canary;
import dev.metaroce.sim.swarm.Swarm;
import dev.metaroce.sim.swarm.SwarmOutcome;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Runs consecutive seeds on some threads. How many threads there are changes nothing but the order
 * in which outcomes are told.
 */
final class SwarmBatch {
    private final long firstSeed;
    private final long seeds;
    private final boolean canary;
    private final AtomicLong next = new AtomicLong();
    private volatile boolean stopped;
    private @Nullable Throwable thrown;

    SwarmBatch(long firstSeed, long seeds, boolean canary) {
        this.firstSeed = firstSeed;
        this.seeds = seeds;
        this.canary = canary;
    }

    /** Begins no more seeds; those that run are finished. */
    void stop() {
        stopped = true;
    }

    /**
     * Runs all seeds, or until it is stopped.
     *
     * @param told gets each outcome, one at a time
     */
    void run(int threads, Consumer<SwarmOutcome> told) throws InterruptedException {
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            workers.add(Thread.ofPlatform().daemon().name("swarm " + i).start(() -> work(told)));
        }
        for (Thread worker : workers) {
            worker.join();
        }
        Throwable cause = thrown;
        if (cause != null) {
            throw new IllegalStateException("a seed could not be run: " + cause, cause);
        }
    }

    private void work(Consumer<SwarmOutcome> told) {
        try {
            while (!stopped) {
                long number = next.getAndIncrement();
                if (number >= seeds) {
                    return;
                }
                long seed = firstSeed + number;
                SwarmOutcome outcome = Swarm.run(seed, canary ? Canary.of(seed) : Canary.NONE);
                synchronized (this) {
                    told.accept(outcome);
                }
            }
        } catch (RuntimeException | Error e) {
            stopped = true;
            synchronized (this) {
                thrown = e;
            }
        }
    }
}
