package dev.metaroce.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantitiesTest {
    @ParameterizedTest
    @CsvSource({
        "100G, 100000000000",
        "100g, 100000000000",
        "400Gbps, 400000000000",
        "1.6T, 1600000000000",
        "1600000000000, 1600000000000",
        "1, 1",
        "10Mb/s, 10000000",
        "0.001k, 1",
        "2.5Gbps, 2500000000",
    })
    void ratesAreBitsPerSecondInPowersOfAThousand(String text, long bitsPerSecond) {
        assertThat(Quantities.bitsPerSecond(text)).isEqualTo(bitsPerSecond);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0",
                "-1",
                "100X",
                "G",
                "1.61T",
                "0.5",
                "1e9",
                "100 G",
                "100GB",
                "100Gib",
                "NaN",
                "99999999999999999999999999999999T",
                "999999999999999999999999999999T"
            })
    void whatIsNoRateInRangeIsRefused(String text) {
        assertThatThrownBy(() -> Quantities.bitsPerSecond(text))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "'%s' is not a rate in 1 b/s..1.6 Tb/s (such as 100G or 400Gbps)"
                                .formatted(text));
    }

    @ParameterizedTest
    @CsvSource({
        "1us, 1000000",
        "500ns, 500000",
        "0.5ns, 500",
        "1.000001us, 1000001",
        "0ns, 0",
        "7ps, 7",
        "3ms, 3000000000",
        "1000s, 1000000000000000",
    })
    void delaysAreExactInPicoseconds(String text, long picoseconds) {
        assertThat(Quantities.delayPs(text)).isEqualTo(picoseconds);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "-1us", "0.5ps", "0.0001ns", "1001s", "us", "1 us", "1u", "1m"})
    void whatIsNoDelayInRangeIsRefused(String text) {
        assertThatThrownBy(() -> Quantities.delayPs(text))
                .isInstanceOf(ConfigException.class)
                .hasMessage("'%s' is not a delay in 0ns..1000s (such as 1us)".formatted(text));
    }

    @ParameterizedTest
    @CsvSource({
        "2000000, 2000000",
        "64k, 65536",
        "64KiB, 65536",
        "1.5M, 1572864",
        "2GiB, 2147483648",
        "0, 0",
        "8b, 8",
        "1024G, 1099511627776",
    })
    void sizesAreBytesInPowersOf1024(String text, long bytes) {
        assertThat(Quantities.bytes(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"64kB", "1025G", "1T", "-1", "3x", "0.1", "", "9999999999999999999999"})
    void whatIsNoSizeInRangeIsRefused(String text) {
        assertThatThrownBy(() -> Quantities.bytes(text))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "'%s' is not a byte count in 0..1024G (k, M, G mean KiB, MiB, GiB)"
                                .formatted(text));
    }
}
