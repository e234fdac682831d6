package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.TimeUnit;

/** The programs under examples/, compiled from source and run as the README says. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ExampleIT {
    @Test
    void allExamplesAreListed() {
        try (Tool list = Tool.start("example")) {
            assertThat(list.awaitSuccess(30).lines())
                    .containsExactly("AllocatorExercise", "FirstWrite");
        }
    }

    @Test
    void theAllocatorExercisePrintsWhatTheSourceDocumentExpects() {
        try (Tool run = Tool.start("example", "allocator")) {
            assertThat(run.awaitSuccess(60).lines())
                    .containsExactly(
                            "c1 = 0",
                            "c2 = 1",
                            "packet 0 of c1: accepted",
                            "packet 1 of c1: accepted",
                            "packet 1 of c1: refused as a duplicate",
                            "released c2, in use: {0}");
        }
    }

    @Test
    void theFirstWriteArrives() {
        try (Tool run = Tool.start("example", "first-write")) {
            assertThat(run.awaitSuccess(60)).contains("the receiver's memory says: hello, memory");
        }
    }

    @Test
    void anUnknownExampleIsRefused() {
        try (Tool run = Tool.start("example", "nonsense")) {
            assertThat(run.awaitExit(30)).isEqualTo(2);
            assertThat(run.err().lines()).hasSize(1);
        }
    }
}
