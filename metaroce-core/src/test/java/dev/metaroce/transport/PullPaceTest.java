package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.congestion.FairShare;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

/** When replies may be asked for. */
class PullPaceTest {
    private static final int MTU = 4096;
    private static final long LINE = 100_000_000_000L;
    private static final DeviceLimits LIMITS =
            DeviceLimits.defaults().toBuilder()
                    .payloadMtu(MTU)
                    .inboundRateBitsPerSecond(LINE)
                    .build();

    private final PullBudget budget = new PullBudget(LIMITS);
    private final PullPace pace = new PullPace(LIMITS, budget);

    private static TxLease lease(PullBudget pulls) {
        return new TxLease(LIMITS, NetAddress.ofIpv4(1, 1), pulls, new Rng(1));
    }

    /** Asks for replies until the pace is full; returns how many. */
    private static int askAll(PullPace pace, long nowNs) {
        int asked = 0;
        while (pace.isOpen(nowNs) && asked < 10_000) {
            pace.onAsked(nowNs, MTU);
            asked++;
        }
        return asked;
    }

    //= MR-5.8-2
    @Test
    void aBurstGoesAtOnceAndTheRestAtTheShare() {
        int burst = askAll(pace, 0);
        assertThat(burst).as("64 KiB and the packet that crosses").isEqualTo(16);

        long seen = 0;
        for (long nowNs = 1_000; nowNs <= 1_000_000; nowNs += 1_000) {
            seen += askAll(pace, nowNs);
        }
        double expected = 0.995 * LINE / 8 / 1000 / (MTU + 128);
        assertThat((double) seen).isBetween(expected - 2, expected + 2);
    }

    //= MR-5.8-1
    @Test
    void eachLeaseThatReadsIsAPart() {
        budget.enter();
        budget.enter();
        budget.enter();
        assertThat(pace.keepBack()).as("news: it was not known to want more").isTrue();
        assertThat(pace.split()).isEqualTo(3);
        assertThat(pace.demand()).isEqualTo(FairShare.UNLIMITED);
        assertThat(pace.keepBack()).isFalse();

        budget.enter();
        assertThat(pace.keepBack()).as("one more reads").isTrue();
        for (int i = 0; i < PullPace.PARTS_MAX; i++) {
            budget.enter();
        }
        assertThat(pace.split()).isEqualTo(PullPace.PARTS_MAX);
    }

    //= MR-5.8-1
    @Test
    void whoIsNotKeptBackWantsWhatItAskedFor() {
        budget.enter();
        pace.keepBack();
        pace.split();
        pace.measure(1_000_000);
        assertThat(pace.demand()).as("kept back in this period").isEqualTo(FairShare.UNLIMITED);

        pace.onAsked(1_000_000, 125_000);
        pace.measure(1_000_000);
        assertThat(pace.demand()).as("1 Gb/s").isEqualTo(1_000_000_001L);
    }

    //= MR-5.8-3
    @Test
    void aLeaseHasFourRoundTripsOfItsPartOnTheWayOrTwoOfMost() {
        TxLease lease = lease(budget);
        lease.onRoundTrip(10_000);
        budget.enter();
        pace.split();
        pace.allow(0, LINE / 4);
        assertThat(ask(lease)).isEqualTo(1 + (int) (LINE / 4 / 8e9 * 40_000 / (MTU + 512)));
        lease.dropPulls();
        pace.allow(0, LINE * 3 / 4);
        assertThat(ask(lease)).isEqualTo(1 + (int) (LINE * 3 / 4 / 8e9 * 20_000 / (MTU + 512)));
        lease.dropPulls();
        pace.allow(0, 1);
        assertThat(ask(lease)).as("one may always be asked for").isEqualTo(1);
    }

    private int ask(TxLease lease) {
        int asked = 0;
        while (pace.hasRoom(lease)) {
            lease.onPull(MTU);
            asked++;
        }
        return asked;
    }

    @Test
    void withoutAKnownRateThereIsNoPace() {
        DeviceLimits unknown = LIMITS.toBuilder().inboundRateBitsPerSecond(0).build();
        PullPace free = new PullPace(unknown, budget);
        assertThat(askAll(free, 0)).isEqualTo(10_000);
    }
}
