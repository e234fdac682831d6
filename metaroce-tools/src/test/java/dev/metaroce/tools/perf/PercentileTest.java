package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import picocli.CommandLine.TypeConversionException;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

class PercentileTest {
    private final Percentile.Converter converter = new Percentile.Converter();

    @ParameterizedTest
    @CsvSource({
        "50, p50, 50%",
        "99.9, p999, 99.9%",
        "99.990, p9999, 99.99%",
        "90.0, p90, 90%",
        "5, p05, 5%",
        "9.99, p0999, 9.99%",
        "0.1, p001, 0.1%"
    })
    void haveAKeyOfTheirOwn(String text, String key, String label) {
        assertThat(converter.convert(text).key()).isEqualTo(key);
        assertThat(converter.convert(text).label()).isEqualTo(label);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "100", "-1", "p99", "", "99.1234567", "1e1", "NaN"})
    void othersAreRefused(String text) {
        assertThatThrownBy(() -> converter.convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("above 0 and below 100");
    }

    @Test
    void areKeysOfTheDocument() {
        LatencyMeter meter = new LatencyMeter(LatencyMeter.WHOLE);
        for (int i = 1; i <= 100; i++) {
            meter.onRoundTrip(i * 1000L);
        }

        LatencyRow row = meter.row(8, 1, List.of(Percentile.of("90"), Percentile.of("99.99")));

        assertThat(row.document().get("t_p90_us").asDouble()).isBetween(90.0, 90.1);
        assertThat(row.document().get("t_p9999_us").asDouble()).isEqualTo(100);
        assertThat(row.document().get("t_p99_us").asDouble()).isBetween(99.0, 99.1);
        assertThat(row.document().has("percentiles")).isFalse();
    }

    @Test
    void theDistributionIsOneLineForEachTimeThatOccurred() {
        LatencyMeter meter = new LatencyMeter(LatencyMeter.HALF);
        meter.onRoundTrip(1000);
        meter.onRoundTrip(1000);
        meter.onRoundTrip(1000);
        meter.onRoundTrip(2000);
        StringWriter text = new StringWriter();

        meter.writeCsv(8, new PrintWriter(text));

        assertThat(text.toString().lines())
                .containsExactly("8,0.500,3,75.000000", "8,1.000,1,100.000000");
    }
}
