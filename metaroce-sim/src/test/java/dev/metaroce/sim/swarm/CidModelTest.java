package dev.metaroce.sim.swarm;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.EventId;
import dev.metaroce.transport.CidPool;
import dev.metaroce.transport.ExhaustionPolicy;

import org.junit.jupiter.api.Test;

/** The account of context ids objects to what may not be. */
class CidModelTest {
    private static final long LIFETIME_NS = 1_000;

    private final CidModel model = new CidModel(4, LIFETIME_NS);

    @Test
    void anIdIsWithOnePeerAtMost() {
        model.onEvent(0, EventId.CID_GRANTED, 2, 7);

        assertThatThrownBy(() -> model.onEvent(5, EventId.CID_GRANTED, 2, 8))
                .hasMessageContaining("granted while another peer holds it");
    }

    @Test
    void anEpochDoesNotComeBackWhilePacketsLive() {
        model.onEvent(0, EventId.CID_GRANTED, 2, 7);
        model.onEvent(100, EventId.CID_EXPIRED, 2, 7);

        assertThatThrownBy(() -> model.onEvent(1_099, EventId.CID_GRANTED, 2, 7))
                .hasMessageContaining("came back after 999 ns");
    }

    @Test
    void anEpochMayComeBackAfterThatAndAnotherAtOnce() {
        model.onEvent(0, EventId.CID_GRANTED, 2, 7);
        model.onEvent(100, EventId.CID_RELEASED, 2, 7);

        assertThatCode(
                        () -> {
                            model.onEvent(100, EventId.CID_GRANTED, 2, 8);
                            model.onEvent(1_000, EventId.CID_RELEASED, 2, 8);
                            model.onEvent(1_100, EventId.CID_GRANTED, 2, 7);
                        })
                .doesNotThrowAnyException();
    }

    @Test
    void nobodyReturnsWhatNobodyHolds() {
        assertThatThrownBy(() -> model.onEvent(0, EventId.CID_RELEASED, 1, 0))
                .hasMessageContaining("which nobody holds");
    }

    @Test
    void thePoolHasToAgree() {
        CidPool pool = new CidPool(4, 4, 4, LIFETIME_NS, ExhaustionPolicy.QUEUE);
        model.check(pool);
        model.onEvent(0, EventId.CID_GRANTED, 0, 0);

        assertThatThrownBy(() -> model.check(pool)).hasMessageContaining("the pool says 0");
    }
}
