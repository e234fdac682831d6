package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.transport.CidPool.DenyCause;
import dev.metaroce.transport.CidPool.Kind;
import dev.metaroce.util.InvariantViolation;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of the pool one by one; {@link CidPoolModelTest} mixes them. */
class CidPoolTest {
    private static final long LIFETIME_NS = 1_000;

    private static CidPool pool(int capacity) {
        return new CidPool(capacity, 8, 8, LIFETIME_NS, ExhaustionPolicy.QUEUE, 0, 0);
    }

    /** Of an ordinary length, from a host of its own. */
    private static long request(CidPool pool, long nowNs, int peer, int ticket) {
        return pool.request(nowNs, peer, ticket, ticket, false);
    }

    private static int granted(long decision) {
        assertThat(CidPool.kind(decision)).isEqualTo(Kind.GRANT);
        return CidPool.cid(decision);
    }

    /** Grants and releases {@code count} times at one moment; all must be granted. */
    private static void cycle(CidPool pool, long nowNs, int count) {
        for (int i = 0; i < count; i++) {
            pool.release(nowNs, granted(request(pool, nowNs, 0, 0)));
        }
    }

    @Test
    void firstTwoGrantsOfAPoolOfFourAreZeroAndOne() {
        CidPool pool = pool(4);

        long first = request(pool, 0, 1, 0);
        long second = request(pool, 0, 2, 1);

        assertThat(granted(first)).isZero();
        assertThat(granted(second)).isEqualTo(1);
        assertThat(CidPool.epoch(first)).isZero();
        assertThat(pool.state(0)).isEqualTo(SlotState.GRANTED);
        assertThat(pool.state(2)).isEqualTo(SlotState.FREE);
        assertThat(pool.inUse()).isEqualTo(2);
        assertThat(pool.free()).isEqualTo(2);
    }

    /** MR-3.1-4, MR-3.1-5. */
    @Test
    void releasedSlotsReturnInTheOrderOfTheirReleaseWithTheNextEpoch() {
        CidPool pool = pool(4);
        for (int i = 0; i < 4; i++) {
            request(pool, 0, i, i);
        }
        pool.release(1, 2);
        pool.release(2, 0);

        long first = request(pool, 3, 0, 0);
        long second = request(pool, 3, 0, 1);

        assertThat(granted(first)).isEqualTo(2);
        assertThat(granted(second)).isZero();
        assertThat(CidPool.epoch(first)).isEqualTo(1);
        assertThat(pool.epoch(2)).isEqualTo(1);
        assertThat(pool.epoch(3)).isZero();
    }

    @Test
    void epochsStartWhereToldAndWrap() {
        CidPool pool = new CidPool(1, 0, 1, LIFETIME_NS, ExhaustionPolicy.DENY, 254, 0);
        long decision = request(pool, 0, 0, 0);
        assertThat(CidPool.epoch(decision)).isEqualTo(254);
        pool.release(0, 0);
        assertThat(CidPool.epoch(request(pool, 0, 0, 0))).isEqualTo(255);
        pool.release(LIFETIME_NS, 0);
        assertThat(CidPool.epoch(request(pool, LIFETIME_NS, 0, 0))).isZero();
    }

    /**
     * MR-3.1-6. The 128th release at one moment would enter the other half: it waits until exactly
     * one lifetime after the slot entered the first.
     */
    @Test
    void halfOfTheEpochSpaceIsLeftOnlyAfterOnePacketLifetime() {
        CidPool pool = pool(1);
        cycle(pool, 10, 127);
        assertThat(granted(request(pool, 20, 0, 0))).isZero();
        assertThat(pool.epoch(0)).isEqualTo(127);

        pool.release(20, 0);

        assertThat(pool.state(0)).isEqualTo(SlotState.QUARANTINED);
        assertThat(pool.nextDeadlineNs()).isEqualTo(10 + LIFETIME_NS);
        long early = request(pool, 10 + LIFETIME_NS - 1, 0, 5);
        assertThat(CidPool.kind(early)).isEqualTo(Kind.QUEUED);
        assertThat(pool.pollGrant(10 + LIFETIME_NS - 1)).isEqualTo(CidPool.NONE);
        long grant = pool.pollGrant(10 + LIFETIME_NS);
        assertThat(CidPool.ticket(grant)).isEqualTo(5);
        assertThat(CidPool.epoch(grant)).isEqualTo(128);
    }

    @Test
    void slotThatIsOldEnoughEntersTheOtherHalfAtOnce() {
        CidPool pool = pool(1);
        cycle(pool, 10, 127);
        request(pool, 10, 0, 0);
        CidPool younger = pool(1);
        cycle(younger, 10, 127);
        request(younger, 10, 0, 0);

        pool.release(10 + LIFETIME_NS, 0);
        younger.release(10 + LIFETIME_NS - 1, 0);

        assertThat(younger.state(0)).isEqualTo(SlotState.QUARANTINED);

        assertThat(pool.state(0)).isEqualTo(SlotState.FREE);
        assertThat(pool.nextDeadlineNs()).isEqualTo(Long.MAX_VALUE);
    }

    /** MR-3.1-7. */
    @Test
    void expiredSlotRestsForAWholePacketLifetime() {
        CidPool pool = pool(2);
        granted(request(pool, 0, 0, 0));

        pool.expire(100, 0);

        assertThat(pool.state(0)).isEqualTo(SlotState.QUARANTINED);
        assertThat(pool.quarantined()).isEqualTo(1);
        assertThat(pool.inUse()).isZero();
        assertThat(pool.nextDeadlineNs()).isEqualTo(100 + LIFETIME_NS);
        pool.onTimeout(100 + LIFETIME_NS - 1);
        assertThat(pool.state(0)).isEqualTo(SlotState.QUARANTINED);
        pool.onTimeout(100 + LIFETIME_NS);
        assertThat(pool.state(0)).isEqualTo(SlotState.FREE);
    }

    /**
     * MR-3.1-8. Slot 1 expires last but its half rule ends first, so the list is not simply one of
     * arrival.
     */
    @Test
    void quarantineEndsInTheOrderOfEndTimes() {
        CidPool pool = pool(2);
        cycle(pool, 0, 252); // both slots have used epochs 0..125
        assertThat(granted(request(pool, 0, 0, 0))).isZero(); // epoch 126
        assertThat(granted(request(pool, 0, 0, 1))).isEqualTo(1);
        pool.release(0, 1);
        assertThat(granted(request(pool, 0, 0, 1))).isEqualTo(1); // epoch 127, entered at 0
        pool.expire(500, 0);
        pool.release(600, 1);
        assertThat(pool.nextDeadlineNs()).isEqualTo(LIFETIME_NS);

        pool.onTimeout(500 + LIFETIME_NS);

        assertThat(granted(request(pool, 500 + LIFETIME_NS, 0, 0))).isEqualTo(1);
        assertThat(granted(request(pool, 500 + LIFETIME_NS, 0, 1))).isZero();
    }

    /** MR-3.5-2: a slot is free, but two wait for it. */
    @Test
    void newRequestDoesNotOvertakeThoseWhoWait() {
        CidPool pool = pool(1);
        request(pool, 0, 0, 0);
        assertThat(CidPool.position(request(pool, 0, 1, 11))).isEqualTo(1);
        assertThat(CidPool.position(request(pool, 0, 2, 12))).isEqualTo(2);
        pool.release(1, 0);

        long late = request(pool, 1, 3, 13);

        assertThat(CidPool.kind(late)).isEqualTo(Kind.QUEUED);
        assertThat(CidPool.position(late)).isEqualTo(3);
        long grant = pool.pollGrant(1);
        assertThat(CidPool.kind(grant)).isEqualTo(Kind.GRANT);
        assertThat(CidPool.ticket(grant)).isEqualTo(11);
        assertThat(CidPool.cid(grant)).isZero();
        assertThat(CidPool.epoch(grant)).isEqualTo(1);
        assertThat(pool.pollGrant(1)).isEqualTo(CidPool.NONE);
        assertThat(pool.position(12)).isEqualTo(1);
    }

    /** MR-3.5-3. */
    @Test
    void policyDenyRefusesAtOnce() {
        CidPool pool = new CidPool(1, 8, 8, LIFETIME_NS, ExhaustionPolicy.DENY, 0, 0);
        request(pool, 0, 0, 0);

        long decision = request(pool, 0, 1, 1);

        assertThat(CidPool.kind(decision)).isEqualTo(Kind.DENY);
        assertThat(CidPool.cause(decision)).isEqualTo(DenyCause.POLICY);
        assertThat(pool.waiting()).isZero();
    }

    /** MR-3.5-4, MR-3.5-5. */
    @Test
    void queueIsBoundedAsAWholeAndPerPeer() {
        CidPool pool = new CidPool(1, 3, 2, LIFETIME_NS, ExhaustionPolicy.QUEUE, 0, 0);
        request(pool, 0, 0, 0);
        request(pool, 0, 7, 1);
        request(pool, 0, 7, 2);

        long capped = request(pool, 0, 7, 3);
        long other = request(pool, 0, 8, 4);
        long full = request(pool, 0, 9, 5);

        assertThat(CidPool.cause(capped)).isEqualTo(DenyCause.PEER_CAP);
        assertThat(CidPool.position(other)).isEqualTo(3);
        assertThat(CidPool.cause(full)).isEqualTo(DenyCause.QUEUE_FULL);
        pool.release(1, 0);
        pool.pollGrant(1);
        assertThat(CidPool.kind(request(pool, 1, 7, 6)))
                .as("the cap counts those who wait, not what was granted")
                .isEqualTo(Kind.QUEUED);
    }

    /** MR-3.5-6. */
    @Test
    void cancelledWaiterIsSkippedAndOthersMoveUp() {
        CidPool pool = pool(1);
        request(pool, 0, 0, 0);
        for (int ticket = 1; ticket <= 4; ticket++) {
            request(pool, 0, ticket, ticket);
        }

        assertThat(pool.cancelWaiter(2)).isTrue();
        assertThat(pool.cancelWaiter(2)).isFalse();

        assertThat(pool.waiting()).isEqualTo(3);
        assertThat(pool.position(1)).isEqualTo(1);
        assertThat(pool.position(2)).isZero();
        assertThat(pool.position(3)).isEqualTo(2);
        assertThat(pool.position(4)).isEqualTo(3);
    }

    /** MR-3.5-7. */
    @Test
    void loadIsTwoHundredFiftyFiveExactlyWhenNoneIsFree() {
        CidPool pool = pool(4);
        assertThat(pool.load()).isZero();
        request(pool, 0, 0, 0);
        assertThat(pool.load()).isEqualTo(63);
        request(pool, 0, 0, 1);
        request(pool, 0, 0, 2);
        assertThat(pool.load()).isEqualTo(190);
        pool.expire(0, 1);
        request(pool, 0, 0, 3);
        assertThat(pool.inUse()).isEqualTo(3);
        assertThat(pool.load()).as("three in use, one in quarantine").isEqualTo(255);
        pool.onTimeout(LIFETIME_NS);
        assertThat(pool.load()).isEqualTo(190);
    }

    /** MR-3.1-11. */
    @Test
    void slotGoesFromGrantedOverActiveToReclaiming() {
        CidPool pool = pool(1);
        request(pool, 0, 0, 0);
        pool.activate(0);
        assertThat(pool.state(0)).isEqualTo(SlotState.ACTIVE);
        pool.reclaim(0);
        assertThat(pool.state(0)).isEqualTo(SlotState.RECLAIMING);
        pool.activate(0);
        assertThat(pool.state(0)).as("DATA while it drains").isEqualTo(SlotState.RECLAIMING);
        pool.release(0, 0);
        assertThat(pool.state(0)).isEqualTo(SlotState.FREE);
    }

    /** MR-3.1-3: the caller's mistakes stop the engine instead of giving one slot to two. */
    @Test
    void slotThatNobodyHoldsCannotBeReleased() {
        CidPool pool = pool(2);
        request(pool, 0, 0, 0);
        pool.release(0, 0);

        assertThatThrownBy(() -> pool.release(0, 0)).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> pool.expire(0, 1)).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> pool.activate(1)).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> pool.reclaim(1)).isInstanceOf(InvariantViolation.class);
    }

    @Test
    void ticketOfAWaiterCannotBeUsedTwice() {
        CidPool pool = pool(1);
        request(pool, 0, 0, 0);
        request(pool, 0, 1, 7);

        assertThatThrownBy(() -> request(pool, 0, 2, 7)).isInstanceOf(InvariantViolation.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 257, -1})
    void capacityOutOfRangeIsNamed(int capacity) {
        assertThatThrownBy(() -> pool(capacity))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("capacity " + capacity);
    }

    @Test
    void tablesOfAFullPoolTakeAFewKibibytes() {
        CidPool pool = new CidPool(256, 1_024, 8, LIFETIME_NS, ExhaustionPolicy.QUEUE, 0, 0);

        assertThat(pool.bytes()).isEqualTo(256 * 34 + 1_024 * 12);
    }
}
