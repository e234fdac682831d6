package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;

import org.junit.jupiter.api.Test;

/** The plain course of things, without faults: MR-3.3-9, MR-4.1-1, MR-4.2-8. */
class FirstWriteTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void oneWriteArrives() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 42, 0, 1 << 20);
        pair.expectSends(1, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.clientEnd.sends.get(0).wrId()).isEqualTo(42);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.lab.advance(SECOND);
        assertThat(pair.server.device.contextsInUse()).isZero();
        assertThat(pair.server.count(CounterId.RELEASES)).isEqualTo(1);
    }
}
