package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.EventSink;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Set;
import java.util.TreeSet;

/** Hints of a target with an inbound rate of 100 Gb/s, of which 99.5 are shared out. */
class RateHintsTest {
    private static final int SHARED = 99_500;
    private static final long PERIOD = 10_000;

    private static final DeviceLimits LIMITS =
            DeviceLimits.defaults().toBuilder()
                    .inboundRateBitsPerSecond(100_000_000_000L)
                    .hintPeriodNs(PERIOD)
                    .build();

    private final DeviceState device = device(LIMITS);
    private final RxContexts contexts = new RxContexts(LIMITS);
    private final RateHints hints = new RateHints(device, contexts);
    private final TransportConnection sender =
            new TransportConnection(1, false, NetAddress.ofIpv4(1, 1), 1);
    private long nowNs = 1_000_000;
    private int txTime;

    private static DeviceState device(DeviceLimits limits) {
        EndpointIdentity identity = new EndpointIdentity(1, 1);
        return new DeviceState(limits, identity, new Rng(1), () -> 1, EventSink.NONE);
    }

    private void grant(int cid) {
        contexts.init(cid, sender, 0, 1, 1, 1, true, 0, nowNs);
        hints.onGranted(nowNs, cid);
    }

    private void data(int cid, boolean more) {
        contexts.addPayload(cid, 4096);
        hints.onPacket(nowNs, cid, ++txTime, more);
    }

    private int hint(int cid) {
        return contexts.rateHint(cid);
    }

    private int sum() {
        int sum = 0;
        for (int cid = 0; cid < contexts.end(); cid++) {
            sum += contexts.connection(cid) == null ? 0 : hint(cid);
        }
        return sum;
    }

    /** Lets time pass to the next computation of shares; false when none is planned. */
    private boolean toNextRefresh() {
        long atNs = device.timers.nextDeadlineNs();
        if (atNs == Long.MAX_VALUE) {
            return false;
        }
        nowNs = atNs;
        device.timers.cancel(DeviceState.HINT_TIMER);
        hints.refresh(nowNs);
        return true;
    }

    private void settle() {
        for (int i = 0; i < 10 && toNextRefresh(); i++) {
            assertThat(i).as("computations until nothing is left to change").isLessThan(9);
        }
    }

    /** The leases that are told their hint alone, once for each time. */
    private Set<Integer> told() {
        Set<Integer> told = new TreeSet<>();
        while (!hints.untold().isEmpty()) {
            int cid = hints.untold().poll();
            contexts.unset(cid, RxContexts.HINT_OWED);
            told.add(cid);
        }
        return told;
    }

    @Test
    @DisplayName("MR-5.6-8: newcomers get a quarter of what is free, and all of it two periods on")
    void newcomersGetAPartOfWhatIsFree() {
        grant(0);
        assertThat(hint(0)).isEqualTo(SHARED / 4);
        grant(1);
        assertThat(hint(1)).isEqualTo((SHARED - SHARED / 4) / 4);
        assertThat(device.timers.nextDeadlineNs()).isEqualTo(nowNs + PERIOD);
        settle();

        assertThat(hint(0)).isEqualTo(SHARED / 2);
        assertThat(hint(1)).isEqualTo(SHARED / 2);
        assertThat(told()).containsExactly(0, 1);
    }

    @Test
    @DisplayName("MR-5.6-7: nobody is told more before others were told less a period ago")
    void aPromiseIsKeptForAPeriod() {
        grant(0);
        settle();
        assertThat(hint(0)).isEqualTo(SHARED);
        data(0, true);
        settle();
        nowNs += 10 * PERIOD;
        grant(1);
        int least = SHARED / 16 / 2;
        assertThat(hint(1)).as("nothing is free").isEqualTo(least);

        toNextRefresh();
        assertThat(hint(0)).isEqualTo(SHARED / 2);
        assertThat(hint(1)).as("the other was told just now").isEqualTo(least);
        toNextRefresh();
        assertThat(hint(1)).isEqualTo(SHARED / 2);
    }

    @Test
    @DisplayName("MR-5.6-10: a lone sender beside 255 idle leases has all at the second look")
    void aLoneSenderGetsAllOfIt() {
        for (int cid = 0; cid < 256; cid++) {
            grant(cid);
        }
        settle();
        assertThat(hint(7)).isEqualTo(SHARED / 256);
        nowNs += 100 * PERIOD;
        long startNs = nowNs;
        data(7, true);
        settle();

        assertThat(hint(7)).isEqualTo(SHARED);
        assertThat(hint(8)).isEqualTo(SHARED / 16 / 256);
        assertThat(nowNs - startNs).isLessThanOrEqualTo(2 * PERIOD);
    }

    @Test
    @DisplayName("MR-5.6-9: what nobody needs is not taken from anybody")
    void nothingChangesWhileNobodyWantsMore() {
        grant(0);
        grant(1);
        settle();
        nowNs += 3 * PERIOD;
        data(0, true);
        settle();
        int small = hint(1);
        assertThat(small).isEqualTo(SHARED / 16 / 2);
        assertThat(told()).as("MR-5.6-11").containsExactly(0, 1);
        data(0, false);
        nowNs += PERIOD;
        hints.onAnswer(nowNs);

        assertThat(hint(0)).isEqualTo(SHARED);
        assertThat(hint(1)).isEqualTo(small);
        assertThat(told()).isEmpty();
    }

    @Test
    @DisplayName(
            "MR-5.6-10: the packet sent last tells what a lease wants, not the one that came last")
    void anOldPacketDoesNotTell() {
        grant(0);
        hints.onPacket(nowNs, 0, 100, false);
        hints.onPacket(nowNs, 0, 99, true);
        assertThat(contexts.has(0, RxContexts.WANTS_MORE)).isFalse();
        hints.onPacket(nowNs, 0, 101, true);
        assertThat(contexts.has(0, RxContexts.WANTS_MORE)).isTrue();
    }

    @Test
    @DisplayName("MR-5.6-10: who finished gives its share back at the next look")
    void aFinishedSenderGivesItsShareBack() {
        grant(0);
        grant(1);
        settle();
        data(0, true);
        data(1, true);
        settle();
        nowNs += 3 * PERIOD;
        assertThat(hint(0)).isEqualTo(SHARED / 2);
        data(1, false);
        nowNs += PERIOD;
        hints.onAnswer(nowNs);

        assertThat(hint(0)).isEqualTo(SHARED);
        assertThat(hint(1)).isEqualTo(SHARED / 16 / 2);
    }

    /** MR-5.6-2, MR-5.6-7: those who want more are never promised more than there is. */
    @Seeded(cases = 50)
    void promisesToTheBusyFitTheRate(long seed) {
        Rng rng = new Rng(seed);
        int most = 1 + rng.nextInt(40);
        for (int step = 0; step < 400; step++) {
            int cid = rng.nextInt(most);
            nowNs += rng.nextInt((int) PERIOD / 2);
            if (contexts.connection(cid) == null) {
                grant(cid);
            } else if (rng.chance(0.05)) {
                contexts.clear(cid);
            } else {
                data(cid, rng.chance(0.8));
            }
            if (device.timers.nextDeadlineNs() <= nowNs) {
                device.timers.cancel(DeviceState.HINT_TIMER);
                hints.refresh(nowNs);
            }
            hints.onAnswer(nowNs);
            assertThat(sum()).isLessThanOrEqualTo(SHARED + 2 * SHARED / 16 + most);
        }
    }

    @Test
    @DisplayName("MR-5.6-5: without an inbound rate there are no hints, and no work for them")
    void withoutARateNoHints() {
        DeviceLimits unknown = LIMITS.toBuilder().inboundRateBitsPerSecond(0).build();
        DeviceState other = device(unknown);
        RateHints none = new RateHints(other, contexts);
        contexts.init(0, sender, 0, 1, 1, 1, true, 0, nowNs);
        none.onGranted(nowNs, 0);
        none.onPacket(nowNs, 0, 1, true);
        none.onAnswer(nowNs + PERIOD);

        assertThat(hint(0)).isEqualTo(AckHeader.RATE_NONE);
        assertThat(other.timers.nextDeadlineNs()).isEqualTo(Long.MAX_VALUE);
    }
}
