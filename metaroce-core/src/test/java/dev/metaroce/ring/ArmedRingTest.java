package dev.metaroce.ring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A completion ring that is asked to tell of the next completion. */
class ArmedRingTest {
    private final AtomicLong alarms = new AtomicLong();
    private final WorkQueue source = WorkQueue.sends("it", 0, 64, 1, 0, false);

    private void push(CompletionRing ring, long seq) {
        ring.push(
                source, seq, seq, WcStatus.SUCCESS, WcOpcode.SEND, 0, 0, CompletionRing.Extra.NONE);
    }

    @Test
    void oneAlarmForEachArming() {
        CompletionRing ring = new CompletionRing(64, alarms::incrementAndGet);
        ring.watch();
        push(ring, 0);
        assertThat(alarms).as("not armed yet").hasValue(0);
        ring.arm();
        assertThat(alarms).as("what came before does not count").hasValue(0);
        push(ring, 1);
        push(ring, 2);
        assertThat(alarms).hasValue(1);
        ring.arm();
        ring.arm();
        push(ring, 3);
        push(ring, 4);
        assertThat(alarms).hasValue(2);
    }

    @Test
    void nobodyWatchesNobodyIsTold() {
        CompletionRing ring = new CompletionRing(64, alarms::incrementAndGet);
        ring.arm();
        push(ring, 0);
        assertThat(alarms).hasValue(0);
        assertThat(ring.watch()).isTrue();
        assertThat(ring.watch()).as("changes once").isFalse();
        push(ring, 1);
        assertThat(alarms).hasValue(1);
    }

    /**
     * Arm, poll again, wait, against a pushing thread: a single lost wake-up stops both for good,
     * since the next completion is only pushed when the last one was polled. Pauses of random
     * length move the two against each other.
     */
    @Seeded(cases = 8)
    @Timeout(60)
    void noWakeUpIsLost(long seed) throws Exception {
        int rounds = 20_000;
        Semaphore bell = new Semaphore(0);
        AtomicLong polled = new AtomicLong();
        CompletionRing ring = new CompletionRing(64, bell::release);
        ring.watch();
        try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
            Future<?> engine = executor.submit(() -> pushAll(ring, seed, rounds, polled));
            try {
                pollAll(ring, seed, rounds, polled, bell);
            } finally {
                polled.set(rounds);
            }
            engine.get();
        }
    }

    private static void pollAll(
            CompletionRing ring, long seed, int rounds, AtomicLong polled, Semaphore bell)
            throws InterruptedException {
        Rng rng = new Rng(seed).fork("application");
        WorkCompletion wc = new WorkCompletion();
        for (int i = 0; i < rounds; i++) {
            while (!ring.poll(wc)) {
                ring.arm();
                if (!pollAfter(ring, wc, rng.nextInt(30))) {
                    assertThat(bell.tryAcquire(20, TimeUnit.SECONDS)).as("woken").isTrue();
                    bell.drainPermits();
                } else {
                    break;
                }
            }
            assertThat(wc.wrId()).isEqualTo(i);
            polled.setRelease(i + 1);
        }
    }

    private static boolean pollAfter(CompletionRing ring, WorkCompletion wc, int pauses) {
        pause(pauses);
        return ring.poll(wc);
    }

    private void pushAll(CompletionRing ring, long seed, int rounds, AtomicLong polled) {
        Rng rng = new Rng(seed).fork("engine");
        for (int i = 0; i < rounds; i++) {
            while (polled.getAcquire() < i) {
                Thread.onSpinWait();
            }
            pause(rng.nextInt(30));
            push(ring, i);
        }
    }

    private static void pause(int turns) {
        for (int i = 0; i < turns; i++) {
            Thread.onSpinWait();
        }
    }
}
