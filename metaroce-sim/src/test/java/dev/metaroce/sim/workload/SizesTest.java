package dev.metaroce.sim.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.util.Rng;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SizesTest {
    private static final String WEB_SEARCH =
            """
            # bytes share
            0 0
            10000 15
            20000 20

            30000 30
            1000000 100
            """;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "64k",
                "uniform:1-10",
                "uniform:1k-1M",
                "pareto:1k-1M:1.2",
                "pareto:1k-1M:1",
                "pareto:100-100k:0.5",
            })
    void theMeanOfManyDrawsIsTheMeanOfTheLaw(String text) {
        SizeDistribution sizes = Sizes.parse(text);

        assertMeanOfDraws(sizes);
    }

    /** Within five standard errors. */
    private static void assertMeanOfDraws(SizeDistribution sizes) {
        Rng rng = new Rng(1);
        double mean = sizes.meanBytes();
        double sum = 0;
        double squares = 0;
        int draws = 200_000;
        for (int i = 0; i < draws; i++) {
            double bytes = sizes.draw(rng);
            sum += bytes;
            squares += (bytes - mean) * (bytes - mean);
        }
        double error = Math.sqrt(squares) / draws;
        assertThat(sum / draws).isCloseTo(mean, Offset.offset(5 * error));
    }

    @Test
    void aParetoLawKeepsToItsEnds() {
        SizeDistribution sizes = Sizes.parse("pareto:100-200:3");
        Rng rng = new Rng(2);
        long least = Long.MAX_VALUE;
        long most = 0;
        for (int i = 0; i < 20_000; i++) {
            long bytes = sizes.draw(rng);
            least = Math.min(least, bytes);
            most = Math.max(most, bytes);
        }

        assertThat(least).isEqualTo(100);
        assertThat(most).isEqualTo(200);
    }

    @Test
    void aCdfFileIsDrawnFromInItsShares() {
        SizeDistribution sizes = Sizes.parseCdf("web.cdf", WEB_SEARCH);
        Rng rng = new Rng(3);
        int draws = 100_000;
        int small = 0;
        int large = 0;
        for (int i = 0; i < draws; i++) {
            long bytes = sizes.draw(rng);
            small += bytes <= 10_000 ? 1 : 0;
            large += bytes > 30_000 ? 1 : 0;
        }

        // 0.15 x 5,000 + 0.05 x 15,000 + 0.1 x 25,000 + 0.7 x 515,000
        assertThat(sizes.meanBytes()).isCloseTo(364_500, Offset.offset(0.001));
        assertMeanOfDraws(sizes);
        assertThat(small / (double) draws).isCloseTo(0.15, Offset.offset(0.01));
        assertThat(large / (double) draws).isCloseTo(0.7, Offset.offset(0.01));
    }

    @Test
    void sharesMayGoUpToOneAsWell() {
        SizeDistribution sizes = Sizes.parseCdf("two.cdf", "100 0.5\n100 0.5\n300 1\n");

        assertThat(sizes.meanBytes()).isEqualTo(0.5 * 100 + 0.5 * 200);
        assertThat(sizes.draw(new Rng(4))).isBetween(100L, 300L);
    }

    @Test
    void whatIsNoLawIsRefused() {
        lawRefused("0", "size 0: is not in 1..1099511627776");
        lawRefused("64x", "'64x' is not a byte count in 0..1024G (k, M, G mean KiB, MiB, GiB)");
        lawRefused("uniform:0-5", "size 0: is not in 1..1099511627776");
        lawRefused("uniform:5-4", "size 5-4: is in the wrong order");
        lawRefused(
                "uniform:5-6:1",
                "size 'uniform:5-6:1': write 64k, uniform:1k-1M or pareto:1k-10M:1.2");
        lawRefused(
                "pareto:5-6", "size 'pareto:5-6': write 64k, uniform:1k-1M or pareto:1k-10M:1.2");
        lawRefused(
                "pareto:5-6:0", "size pareto:5-6:0.0: takes smaller-larger:shape, shape up to 10");
        lawRefused(
                "pareto:5-5:1", "size pareto:5-5:1.0: takes smaller-larger:shape, shape up to 10");
        lawRefused("normal:5", "size 'normal:5': write 64k, uniform:1k-1M or pareto:1k-10M:1.2");
    }

    private static void lawRefused(String text, String message) {
        assertThatThrownBy(() -> Sizes.parse(text))
                .isInstanceOf(ConfigException.class)
                .hasMessage(message);
    }

    @Test
    void whatIsWrongInACdfFileIsToldWithItsLine() {
        editRefused("10000 15", "10000", "3: '10000' is not: bytes share");
        editRefused("10000 15", "10000 15 1", "3: '10000 15 1' is not: bytes share");
        editRefused(
                "10000 15", "10e3 15", "3: bytes '10e3' is no whole number in 0..1099511627776");
        editRefused("10000 15", "10000 115", "3: share '115' is no number in 0..100");
        editRefused("10000 15", "10000 -1", "3: share '-1' is no number in 0..100");
        editRefused("10000 15", "10000 25", "4: '20000 20' is less than the line before");
        editRefused("10000 15", "25000 15", "4: '20000 20' is less than the line before");
        editRefused(
                "1000000 100", "1000000 99", "7: the last share is 99.0: it should be 1 or 100");
    }

    private static void editRefused(String right, String wrong, String message) {
        assertThat(WEB_SEARCH).contains(right);
        assertThatThrownBy(() -> Sizes.parseCdf("web.cdf", WEB_SEARCH.replace(right, wrong)))
                .isInstanceOf(ConfigException.class)
                .hasMessage("web.cdf:" + message);
    }

    @Test
    void anEmptyCdfFileIsRefused() {
        assertThatThrownBy(() -> Sizes.parseCdf("no.cdf", "# nothing\n"))
                .isInstanceOf(ConfigException.class)
                .hasMessage("no.cdf:1: the last share is 0.0: it should be 1 or 100");
    }
}
