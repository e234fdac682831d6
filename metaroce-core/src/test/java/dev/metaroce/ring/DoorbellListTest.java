package dev.metaroce.ring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

class DoorbellListTest {
    private final DoorbellList bells = new DoorbellList();

    private List<Object> takeAll() {
        List<Object> owners = new ArrayList<>();
        DoorbellList.Bell bell = bells.takeAll();
        while (bell != null) {
            owners.add(bell.owner());
            bell = bells.next(bell);
        }
        return owners;
    }

    @Test
    void bellsComeOldestFirstAndEachOnce() {
        DoorbellList.Bell a = new DoorbellList.Bell("a");
        DoorbellList.Bell b = new DoorbellList.Bell("b");
        assertThat(bells.isQuiet()).isTrue();
        assertThat(bells.ring(a)).isTrue();
        assertThat(bells.ring(b)).isTrue();
        assertThat(bells.ring(a)).isFalse();

        assertThat(takeAll()).containsExactly("a", "b");
        assertThat(bells.isQuiet()).isTrue();
        assertThat(bells.ring(b)).isTrue();
        assertThat(bells.ring(a)).isTrue();
        assertThat(takeAll()).containsExactly("b", "a");
    }

    @Test
    void aBellRungWhileItsListIsWalkedComesAgain() {
        DoorbellList.Bell a = new DoorbellList.Bell("a");
        DoorbellList.Bell b = new DoorbellList.Bell("b");
        bells.ring(a);
        bells.ring(b);
        DoorbellList.Bell first = bells.takeAll();
        DoorbellList.Bell second = bells.next(first);
        // a was passed and may ring; b was not.
        assertThat(bells.ring(a)).isTrue();
        assertThat(bells.ring(b)).isFalse();
        assertThat(bells.next(second)).isNull();

        assertThat(takeAll()).containsExactly("a");
    }

    /**
     * Four threads count up and ring; the engine thread reads the counts after a ring. When all
     * have ended, it has seen every last count: no ring is lost.
     */
    @Test
    @Timeout(60)
    void noRingIsLostBetweenThreads() throws InterruptedException {
        int ringers = 4;
        int rounds = 200_000;
        AtomicLong[] counts = new AtomicLong[ringers];
        DoorbellList.Bell[] own = new DoorbellList.Bell[ringers];
        Thread[] threads = new Thread[ringers];
        for (int i = 0; i < ringers; i++) {
            counts[i] = new AtomicLong();
            own[i] = new DoorbellList.Bell(i);
            int number = i;
            threads[i] =
                    new Thread(
                            () -> {
                                for (int round = 0; round < rounds; round++) {
                                    counts[number].lazySet(round + 1);
                                    bells.ring(own[number]);
                                }
                            });
        }
        long[] seen = new long[ringers];
        for (Thread thread : threads) {
            thread.start();
        }
        boolean running = true;
        while (running) {
            running = false;
            for (Thread thread : threads) {
                running |= thread.isAlive();
            }
            drain(counts, seen);
        }
        drain(counts, seen);

        assertThat(seen).containsOnly(rounds);
        assertThat(bells.isQuiet()).isTrue();
    }

    private void drain(AtomicLong[] counts, long[] seen) {
        DoorbellList.Bell bell = bells.takeAll();
        while (bell != null) {
            int number = (int) bell.owner();
            bell = bells.next(bell);
            seen[number] = counts[number].get();
        }
    }
}
