package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

class TimerTableTest {
    @Test
    void anEmptyTableHasNoDeadline() {
        TimerTable timers = new TimerTable(0);

        assertThat(timers.nextDeadlineNs()).isEqualTo(Long.MAX_VALUE);
        assertThat(timers.pollExpired(Long.MAX_VALUE)).isEqualTo(-1);
        assertThat(timers.isArmed(0)).isFalse();
        assertThat(timers.isArmed(-1)).isFalse();
        assertThat(timers.deadlineNs(5)).isEqualTo(Long.MAX_VALUE);
        timers.cancel(3);
        timers.cancel(-1);
    }

    @Test
    void timersExpireInOrderOfTimeAndThenOfId() {
        TimerTable timers = new TimerTable(4);
        timers.set(3, 100);
        timers.set(1, 200);
        timers.set(2, 100);
        timers.set(0, 300);

        assertThat(timers.nextDeadlineNs()).isEqualTo(100);
        assertThat(timers.pollExpired(99)).isEqualTo(-1);
        assertThat(timers.pollExpired(200)).isEqualTo(2);
        assertThat(timers.pollExpired(200)).isEqualTo(3);
        assertThat(timers.pollExpired(200)).isEqualTo(1);
        assertThat(timers.pollExpired(200)).isEqualTo(-1);
        assertThat(timers.nextDeadlineNs()).isEqualTo(300);
    }

    @Test
    void aTimerMovesBothWaysAndGoesAway() {
        TimerTable timers = new TimerTable(2);
        timers.set(0, 100);
        timers.set(1, 200);
        timers.set(0, 300);
        assertThat(timers.nextDeadlineNs()).isEqualTo(200);
        timers.set(0, 50);
        assertThat(timers.nextDeadlineNs()).isEqualTo(50);
        timers.set(0, Long.MAX_VALUE);
        assertThat(timers.isArmed(0)).isFalse();
        timers.cancel(1);
        assertThat(timers.nextDeadlineNs()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aNegativeIdIsRefused() {
        assertThatThrownBy(() -> new TimerTable(1).set(-1, 5))
                .isInstanceOf(InvariantViolation.class);
    }

    @Test
    void agreesWithATreeMapOverRandomWalks() {
        for (long seed = 1; seed <= 300; seed++) {
            walk(seed, new Rng(seed).nextLong());
        }
    }

    @Test
    void agreesWithATreeMapWhileTheClockWraps() {
        for (long seed = 1; seed <= 300; seed++) {
            walk(seed, Long.MAX_VALUE - 150);
        }
    }

    /** Times are base + offset and may wrap; the twin sees offsets only. */
    private static void walk(long seed, long base) {
        Rng rng = new Rng(seed);
        TimerTable timers = new TimerTable(rng.nextInt(4));
        TreeMap<Integer, TreeSet<Integer>> byOffset = new TreeMap<>();
        Map<Integer, Integer> offsets = new HashMap<>();
        int now = 0;
        for (int step = 0; step < 300; step++) {
            String what = "seed " + seed + " step " + step;
            int id = rng.nextInt(40);
            switch (rng.nextInt(4)) {
                case 0, 1 -> {
                    int offset = now + rng.nextInt(60);
                    if (base + offset != Long.MAX_VALUE) {
                        timers.set(id, base + offset);
                        remove(byOffset, offsets, id);
                        offsets.put(id, offset);
                        byOffset.computeIfAbsent(offset, key -> new TreeSet<>()).add(id);
                    }
                }
                case 2 -> {
                    timers.cancel(id);
                    remove(byOffset, offsets, id);
                }
                default -> {
                    now += rng.nextInt(12);
                    int expected = -1;
                    if (!byOffset.isEmpty() && byOffset.firstKey() <= now) {
                        expected = byOffset.firstEntry().getValue().first();
                        remove(byOffset, offsets, expected);
                    }
                    assertThat(timers.pollExpired(base + now)).as(what).isEqualTo(expected);
                }
            }
            assertThat(timers.isArmed(id)).as(what).isEqualTo(offsets.containsKey(id));
            assertThat(timers.deadlineNs(id))
                    .as(what)
                    .isEqualTo(offsets.containsKey(id) ? base + offsets.get(id) : Long.MAX_VALUE);
            assertThat(timers.nextDeadlineNs())
                    .as(what)
                    .isEqualTo(byOffset.isEmpty() ? Long.MAX_VALUE : base + byOffset.firstKey());
        }
    }

    private static void remove(
            TreeMap<Integer, TreeSet<Integer>> byOffset, Map<Integer, Integer> offsets, int id) {
        Integer offset = offsets.remove(id);
        if (offset != null) {
            TreeSet<Integer> ids = byOffset.get(offset);
            ids.remove(id);
            if (ids.isEmpty()) {
                byOffset.remove(offset);
            }
        }
    }
}
