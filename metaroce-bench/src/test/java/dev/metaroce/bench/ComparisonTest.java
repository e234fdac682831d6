package dev.metaroce.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

import java.util.List;

/** Medians and ratios of figures whose answers are known. */
class ComparisonTest {
    @Test
    void ratiosAreTakenRoundByRoundAndNotOfMedians() {
        // Round 2 was disturbed for both: the ratio stays 2, that of the medians would too; round 3
        // was disturbed for the peer alone.
        Comparison row =
                read(
                        "1|bandwidth|more|ours|10",
                        "1|bandwidth|more|peer|5",
                        "2|bandwidth|more|ours|4",
                        "2|bandwidth|more|peer|2",
                        "3|bandwidth|more|ours|12",
                        "3|bandwidth|more|peer|1");

        Comparison.Contender peer = row.contenders().get(1);
        assertThat(peer.samples().median()).isEqualTo(2);
        assertThat(peer.oursToThis().values()).containsExactly(2.0, 2.0, 12.0);
        assertThat(peer.oursToThis().median()).isEqualTo(2);
        assertThat(peer.oursToThis().max()).isEqualTo(12);
        assertThat(row.contenders().get(0).oursToThis().values()).containsOnly(1.0);
    }

    @Test
    void anEvenNumberOfRoundsHasTheMeanOfTheMiddleTwo() {
        Comparison row =
                read(
                        "1|latency|less|ours|8",
                        "2|latency|less|ours|1",
                        "3|latency|less|ours|4",
                        "4|latency|less|ours|2");

        assertThat(row.contenders().get(0).samples().median()).isCloseTo(3, within(1e-9));
        assertThat(row.contenders().get(0).samples().min()).isEqualTo(1);
    }

    @Test
    void rowsAndContendersKeepTheirOrderWhateverTheOrderOfTheRounds() {
        List<Comparison> rows =
                Comparison.read(
                        List.of(
                                "1|b|more|ours|1",
                                "1|a|less|ours|1",
                                "1|b|more|z|1",
                                "2|b|more|z|1",
                                "2|b|more|ours|1"));

        assertThat(rows).extracting(Comparison::row).containsExactly("b", "a");
        assertThat(rows.get(0).contenders())
                .extracting(Comparison.Contender::name)
                .containsExactly("ours", "z");
    }

    @Test
    void figuresThatMeanNothingAreNamed() {
        assertThatThrownBy(() -> read("1|b|more|ours|"))
                .hasMessage("'1|b|more|ours|': '' is not a figure above 0");
        assertThatThrownBy(() -> read("1|b|more|ours|NaN")).hasMessageContaining("'NaN'");
        assertThatThrownBy(() -> read("1|b|more|ours|0")).hasMessageContaining("'0'");
        assertThatThrownBy(() -> read("ours|1")).hasMessage("'ours|1' has 2 fields, not 5");
        assertThatThrownBy(() -> read("1|b|more|ours|1", "2|b|more|peer|1"))
                .hasMessage("b: round 2 of peer has no figure of ours to compare with");
    }

    private static Comparison read(String... lines) {
        return Comparison.read(List.of(lines)).get(0);
    }
}
