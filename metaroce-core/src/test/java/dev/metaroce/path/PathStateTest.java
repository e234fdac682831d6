package dev.metaroce.path;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.congestion.CongestionAlgorithm;

import org.junit.jupiter.api.Test;

class PathStateTest {
    private static final long MS = 1_000_000;
    private static final long RTO_FLOOR_NS = 4 * MS;
    private static final long ACK_DELAY_NS = MS / 20;

    private final PathState path = new PathState(CongestionAlgorithm.ECN_AIMD);
    private long nowNs = 1_000 * MS;

    private long waitNs() {
        return path.probeDeadlineNs(RTO_FLOOR_NS, ACK_DELAY_NS) - nowNs;
    }

    /** Lets the path time out until it has to leave its route; returns how long that took. */
    private long untilRerouted() {
        long start = nowNs;
        do {
            nowNs = path.probeDeadlineNs(RTO_FLOOR_NS, ACK_DELAY_NS);
            path.onTimeout(nowNs);
        } while (!PathHealth.shouldReroute(path));
        return nowNs - start;
    }

    @Test
    void theFirstProbeComesAfterTwoRoundTrips() {
        path.reset(1, 32);
        path.rtt().onSample(MS);
        path.onSent(nowNs);

        assertThat(waitNs()).isEqualTo(2 * MS + 2 * ACK_DELAY_NS);
    }

    /**
     * Several routes may be dead at once: the next ones are tried as fast as the first was left.
     */
    @Test
    void deadRoutesAreLeftOneAfterTheOtherWellBeforeAnyoneGivesUp() {
        path.reset(1, 32);
        path.rtt().onSample(MS / 50);
        path.onSent(nowNs);

        assertThat(untilRerouted()).isLessThan(40 * MS);
        path.moveTo(2, 8);
        assertThat(untilRerouted()).isLessThan(100 * MS);
        path.moveTo(3, 8);
        assertThat(untilRerouted()).isLessThan(200 * MS);
    }

    @Test
    void waitsGrowWithEveryRouteSoThatANetworkThatIsDownIsNotFlooded() {
        path.reset(1, 32);
        path.rtt().onSample(MS / 50);
        path.onSent(nowNs);
        long before = 0;
        for (int route = 2; route < 6; route++) {
            long took = untilRerouted();
            assertThat(took).isGreaterThan(before);
            before = took;
            path.moveTo(route, 8);
        }
        path.onProgress(nowNs);
        assertThat(waitNs()).isLessThanOrEqualTo(RTO_FLOOR_NS);
    }
}
