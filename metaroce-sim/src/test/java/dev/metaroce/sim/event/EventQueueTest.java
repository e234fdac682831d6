package dev.metaroce.sim.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;

import dev.metaroce.util.InvariantViolation;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.management.ManagementFactory;

class EventQueueTest {
    private final EventQueue queue = new EventQueue();

    @Test
    void queueWithoutEventsHasNoNext() {
        assertThat(queue.next()).isFalse();
        assertThat(queue.nextTimePs()).isEqualTo(Long.MAX_VALUE);
        assertThat(queue.size()).isZero();
        assertThat(queue.timePs()).isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 327_680, 4_000_000_000_000L, Long.MAX_VALUE})
    void manyEventsOfOneTimeComeInTheOrderOfAdding(long atPs) {
        int events = 200_000;
        for (int i = 0; i < events; i++) {
            queue.add(atPs, i);
        }

        for (int i = 0; i < events; i++) {
            assertThat(queue.next()).isTrue();
            if (queue.event() != i || queue.timePs() != atPs) {
                assertThat(queue.event()).isEqualTo(i);
                assertThat(queue.timePs()).isEqualTo(atPs);
            }
        }
        assertThat(queue.next()).isFalse();
    }

    @Test
    void eventForThePresentComesAfterAllOthersOfThePresent() {
        queue.add(5, 1);
        queue.add(6, 4);
        queue.add(5, 2);
        assertThat(queue.next()).isTrue();

        queue.add(5, 3);

        for (int event = 2; event <= 4; event++) {
            assertThat(queue.next()).isTrue();
            assertThat(queue.event()).isEqualTo(event);
        }
    }

    @Test
    void lookingAtTheNextTimeLeavesRoomBeforeIt() {
        queue.add(1_000_000_000_000_000_000L, 2);
        assertThat(queue.nextTimePs()).isEqualTo(1_000_000_000_000_000_000L);

        queue.add(7, 1);

        assertThat(queue.nextTimePs()).isEqualTo(7);
        assertThat(queue.next()).isTrue();
        assertThat(queue.event()).isEqualTo(1);
    }

    @Test
    void eventsOfAThirdOfAMillionHostsComeInTheRightOrder() {
        int hosts = 333_333;
        for (int host = 0; host < hosts; host++) {
            queue.add(0, host);
        }
        Rng rng = new Rng(1);
        long taken = 0;
        long lastPs = 0;
        while (taken < 3L * hosts) {
            assertThat(queue.next()).isTrue();
            assertThat(queue.timePs()).isGreaterThanOrEqualTo(lastPs);
            lastPs = queue.timePs();
            queue.add(lastPs + 80_000 + rng.nextInt(1_320_000), taken++);
        }

        assertThat(queue.size()).isEqualTo(hosts);
    }

    @Test
    void timeThatLeftItsRangeIsADefect() {
        long tooLatePs = Long.MAX_VALUE + 1;

        assertThatThrownBy(() -> queue.add(tooLatePs, 1))
                .isInstanceOf(InvariantViolation.class)
                .hasMessageContaining(Long.toString(tooLatePs));
    }

    @ParameterizedTest
    @ValueSource(longs = {100, 5_000, 1_000_000, 1_000_000_000_000L})
    void bucketsAreAsWideAsAFewEventsNeed(long gapPs) {
        hold(gapPs);

        assertThat(queue.bucketPs()).isBetween(gapPs / 2, gapPs * 8);
    }

    @Test
    void bucketsBecomeNarrowWhenEventsMeetInTheOneThatIsOpen() {
        hold(1_000_000_000_000L);
        while (queue.size() > 0) {
            queue.next();
        }
        long widePs = queue.bucketPs();
        long startPs = queue.timePs();

        hold(1_000);

        assertThat(queue.timePs() - startPs).isLessThan(widePs);
        assertThat(queue.bucketPs()).isLessThan(widePs / 1_000);
    }

    /** A thousand events, {@code gapPs} from each other on the average. */
    private void hold(long gapPs) {
        int events = 1_000;
        Rng rng = new Rng(3);
        for (int i = 0; i < 50 * events; i++) {
            if (queue.size() == events) {
                queue.next();
            }
            queue.add(queue.timePs() + (long) (rng.nextDouble() * 2 * events * gapPs), i);
        }
    }

    @Test
    void queueInUseAllocatesNothing() {
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Rng rng = new Rng(2);
        for (int i = 0; i < 20_000; i++) {
            queue.add(rng.nextInt(1_000_000), i);
        }

        long least = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) { // it grows at first
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 100_000; i++) {
                queue.next();
                queue.add(queue.timePs() + rng.nextInt(1_000_000), i);
            }
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }

        assertThat(least).isZero();
    }
}
