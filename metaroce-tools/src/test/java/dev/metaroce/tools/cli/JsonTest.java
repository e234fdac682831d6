package dev.metaroce.tools.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class JsonTest {
    record Row(double bwAverageGbps, double tStdevUs, Double maybe, long messageBytes) {}

    @Test
    void numbersThatAreNotFiniteBecomeNullAndNothingElse() {
        Row row = new Row(Double.NaN, Double.POSITIVE_INFINITY, null, 65_536);

        assertThat(Json.COMPACT.writeValueAsString(row))
                .isEqualTo(
                        "{\"bw_average_gbps\":null,\"t_stdev_us\":null,\"maybe\":null,"
                                + "\"message_bytes\":65536}");
        assertThat(Json.tree(row).get("bw_average_gbps").isNull()).isTrue();
    }

    @Test
    void keysKeepTheirOrderAndNumbersSevenDigits() {
        Row row = new Row(12.345678901, 1e-9, 2.0, 1);

        assertThat(Json.COMPACT.writeValueAsString(row))
                .isEqualTo(
                        "{\"bw_average_gbps\":12.34568,\"t_stdev_us\":1.0E-9,\"maybe\":2.0,"
                                + "\"message_bytes\":1}");
    }

    @Test
    void unknownKeysAreRefusedWhenReading() {
        assertThatThrownBy(() -> Json.COMPACT.readValue("{\"no\":1}", Row.class))
                .isInstanceOf(tools.jackson.core.JacksonException.class);
    }
}
