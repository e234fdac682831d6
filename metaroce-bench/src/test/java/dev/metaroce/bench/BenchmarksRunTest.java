package dev.metaroce.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

import java.util.Collection;
import java.util.stream.Collectors;

/** Every benchmark still runs, with every parameter; nothing is measured. */
class BenchmarksRunTest {
    @Test
    void everyBenchmarkRunsOnce() throws RunnerException {
        // Two builds on one machine may run this at the same time.
        System.setProperty("jmh.ignoreLock", "true");

        Collection<RunResult> results =
                new Runner(
                                new OptionsBuilder()
                                        .mode(Mode.SingleShotTime)
                                        .forks(0)
                                        .warmupIterations(0)
                                        .measurementIterations(1)
                                        .shouldFailOnError(true)
                                        .verbosity(VerboseMode.SILENT)
                                        .build())
                        .run();

        assertThat(
                        results.stream()
                                .map(r -> r.getParams().getBenchmark().split("\\.")[3])
                                .collect(Collectors.toSet()))
                .containsExactlyInAnyOrder(
                        "ChecksumBenchmark",
                        "CodecBenchmark",
                        "EngineBenchmark",
                        "EventQueueBenchmark",
                        "PlacementBenchmark",
                        "RingBenchmark",
                        "TimerBenchmark");
    }
}
