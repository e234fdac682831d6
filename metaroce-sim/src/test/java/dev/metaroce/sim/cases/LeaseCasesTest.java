package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.study.BusySenders;
import dev.metaroce.sim.study.LeaseLatency;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;
import java.util.List;

/** Cases C05 and C14, and what a lease costs: senders that outnumber the contexts. */
class LeaseCasesTest {
    private static final long ROUND_TRIP_PS = 10 * Net.US;

    /** A sixteenth of what {@code metaroce study leases} runs: as much for each context. */
    private static BusySenders.Setup busy(
            int senders, ExhaustionPolicy policy, long quotaTimeNs, long backlogBytes) {
        return new BusySenders.Setup(
                1,
                senders,
                16,
                25 * Net.GIGABIT,
                ROUND_TRIP_PS,
                1 << 20,
                quotaTimeNs,
                backlogBytes,
                64 << 10,
                policy);
    }

    private static BusySenders.Outcome run(BusySenders.Setup setup) {
        double referenceGbps = BusySenders.referenceGbps(setup, () -> true);
        return BusySenders.run(setup, () -> true, referenceGbps);
    }

    @ParameterizedTest
    @CsvSource({"64,1000000,2", "64,100000000,4", "17,1000000,4"})
    @DisplayName("C05: busy senders take turns, the line stays full, nobody waits for long")
    void c05BusySendersTakeTurns(int senders, long quotaTimeNs, int backlogMib) {
        BusySenders.Outcome seen =
                run(busy(senders, ExhaustionPolicy.QUEUE, quotaTimeNs, backlogMib << 20));
        String all = seen.toString();

        assertThat(seen.handOvers()).as(all).isPositive();
        assertThat(seen.share()).as(all).isGreaterThan(0.97);
        if (senders >= 2 * seen.setup().slots()) {
            assertThat(seen.waves()).as(all).isLessThan(1.5);
        }
        assertThat(seen.jainIndex()).as(all).isGreaterThan(0.95);
        assertThat(seen.starved()).as(all).isZero();
        assertThat(seen.denied()).as(all).isZero();
    }

    @Test
    @DisplayName("C05: with policy DENY holders keep their contexts; who is refused asks again")
    void c05RefusedSendersAskAgainAndGetTheirTurn() {
        BusySenders.Outcome seen = run(busy(64, ExhaustionPolicy.DENY, 1_000_000, 2 << 20));

        assertThat(seen.reclaims()).isZero();
        assertThat(seen.denied()).as("no answer makes a sender spin").isBetween(48L, 48L * 10);
        assertThat(seen.failed()).isZero();
        assertThat(seen.share()).isGreaterThan(0.9);
    }

    @Test
    @DisplayName("C14: 512 hosts that dial one within 50 ms are all served, and none starves")
    void c14AConnectStorm() {
        int dialers = 512;
        Net net =
                new Net(
                        1,
                        Net.star(dialers + 1, 1, Net.RATE, Net.US),
                        Net.limits().contexts(256).build());
        Rng rng = new Rng(14);
        long spanPs = 50 * Net.MS;
        for (int i = 0; i < dialers; i++) {
            net.simulation.addFlow(i, dialers, 1 << 20, (long) (rng.nextDouble() * spanPs));
        }
        net.runToEnd();

        double[] waits = new double[dialers];
        for (int flow = 0; flow < dialers; flow++) {
            waits[flow] = net.durationPs(flow);
        }
        Arrays.sort(waits);
        assertThat(net.lastEndPs()).isLessThan(10 * Net.SECOND);
        assertThat(net.count(dialers, CounterId.DENIED)).isZero();
        assertThat(waits[dialers - 1] / waits[dialers / 2]).isLessThan(10);
    }

    @ParameterizedTest
    @CsvSource({"100", "400"})
    @DisplayName("a lease that must be asked for costs one round trip, with 0-RTT none")
    void aColdWriteTakesOneRoundTripMoreAndAnEarlyOneNone(long gigabits) {
        List<LeaseLatency.Row> rows =
                LeaseLatency.measure(
                        new LeaseLatency.Setup(1, gigabits * Net.GIGABIT, ROUND_TRIP_PS, 64));

        assertThat(rows.get(0).roundTrips()).as("new connection").isCloseTo(1, within(0.05));
        assertThat(rows.get(1).roundTrips()).as("cold").isCloseTo(1, within(0.05));
        assertThat(rows.get(2).roundTrips()).as("0-RTT").isCloseTo(0, within(0.05));
        assertThat(rows.get(3).latencyUs()).as("warm").isCloseTo(10, within(0.5));
    }
}
