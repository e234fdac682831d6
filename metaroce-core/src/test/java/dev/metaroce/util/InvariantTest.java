package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class InvariantTest {
    @Test
    void whatHoldsPassesSilently() {
        assertThatCode(() -> Invariant.check(true, "holds")).doesNotThrowAnyException();
        assertThatCode(() -> Invariant.check(true, "holds", 1, 2)).doesNotThrowAnyException();
    }

    @Test
    void whatDoesNotHoldIsNamed() {
        assertThatThrownBy(() -> Invariant.check(false, "slots add up"))
                .isInstanceOf(InvariantViolation.class)
                .hasMessage("invariant broken: slots add up");
    }

    @Test
    void theValuesAreInTheMessage() {
        assertThatThrownBy(() -> Invariant.check(false, "slots add up", 255, -256))
                .isInstanceOf(InvariantViolation.class)
                .hasMessage("invariant broken: slots add up (255, -256)");
    }
}
