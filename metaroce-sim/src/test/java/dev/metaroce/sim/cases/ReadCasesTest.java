package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.sim.fabric.FabricConfig;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;

/** A host that READs from many others while others write to it. */
class ReadCasesTest {
    private static final int MARK_BYTES = FabricConfig.defaults().marking().fromBytes();

    private static final long SPAN_PS = 2 * Net.MS;

    //= MR-5.8-1, MR-5.8-2
    @ParameterizedTest
    @CsvSource({"1,0", "8,0", "64,0", "1,1", "8,8", "64,8"})
    @DisplayName("READs from many targets and WRITEs to the reader share its line without a queue")
    void readsAndWritesShareTheLine(int targets, int writers, TestReporter reporter) {
        int reader = targets + writers;
        Net net = new Net(1, Net.star(reader + 1, 1, Net.RATE, Net.US), Net.limits().build());
        for (int target = 0; target < targets; target++) {
            net.simulation.addRead(reader, target, 1L << 30, 0);
        }
        for (int writer = targets; writer < reader; writer++) {
            net.simulation.addFlow(writer, reader, 1L << 30, 0);
        }
        net.runUntil(3 * Net.MS);
        int bottleneck = 2 * reader + 1;
        long[] before = new long[reader];
        long inBefore = net.port(bottleneck).txBytes();
        for (int host = 0; host < reader; host++) {
            before[host] = net.port(2 * host).txBytes();
        }
        long queueSum = 0;
        long samples = 0;
        long endPs = net.simulation.nowPs() + SPAN_PS;
        while (net.simulation.nowPs() < endPs) {
            queueSum += net.port(bottleneck).queueBytes();
            samples++;
            net.simulation.run(1);
        }
        double line = SPAN_PS / 80.0;
        double[] rates = new double[reader];
        for (int host = 0; host < reader; host++) {
            rates[host] = (net.port(2 * host).txBytes() - before[host]) / line;
        }
        double use = (net.port(bottleneck).txBytes() - inBefore) / line;
        long queue = queueSum / samples;
        double least = Arrays.stream(rates).min().orElse(0) * reader;
        String seen =
                "use %.3f, least share %.3f, Jain %.4f, queue mean %d, longest ever %d"
                        .formatted(
                                use,
                                least,
                                Net.jain(rates),
                                queue,
                                net.port(bottleneck).queueBytesMax());
        reporter.publishEntry(seen);

        assertThat(net.lost(port -> true)).as(seen).isZero();
        assertThat(use).as(seen).isGreaterThan(0.94);
        assertThat(least).as(seen).isGreaterThan(0.9);
        assertThat(Net.jain(rates)).as(seen).isGreaterThan(0.99);
        assertThat(queue).as(seen).isLessThan(MARK_BYTES);
    }
}
