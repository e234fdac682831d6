package dev.metaroce.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

class SeededExtensionTest {
    private static final List<Long> SEEN = new ArrayList<>();
    private String savedSeed = "";

    @BeforeEach
    void setUp() {
        SEEN.clear();
        // This test may itself run with one seed given; the samples below must not see it.
        savedSeed = System.getProperty(SeededExtension.SEED_PROPERTY, "");
        System.clearProperty(SeededExtension.SEED_PROPERTY);
    }

    @AfterEach
    void tearDown() {
        System.clearProperty(SeededExtension.SEED_PROPERTY);
        if (!savedSeed.isEmpty()) {
            System.setProperty(SeededExtension.SEED_PROPERTY, savedSeed);
        }
    }

    @Test
    void eachCaseGetsItsOwnSeed() {
        EngineExecutionResults results = run(Passing.class);

        results.testEvents().assertStatistics(s -> s.succeeded(50).failed(0));
        assertThat(SEEN).hasSize(50).doesNotHaveDuplicates().allMatch(seed -> seed >= 0);
    }

    @Test
    void seedsAreTheSameInEveryRun() {
        assertThat(SeededExtension.seeds("a.B#c", 3, null).boxed())
                .containsExactlyElementsOf(
                        SeededExtension.seeds("a.B#c", 3, null).boxed().toList());
        assertThat(first("a.B#c")).isNotEqualTo(first("a.B#d"));
    }

    @Test
    void moreCasesKeepTheEarlierSeeds() {
        assertThat(SeededExtension.seeds("a.B#c", 9, null).limit(3).boxed())
                .containsExactlyElementsOf(
                        SeededExtension.seeds("a.B#c", 3, null).boxed().toList());
    }

    @Test
    void theFirstFailureStopsTheMethodAndEndsWithTheReplayLine() {
        EngineExecutionResults results = run(FailingOnThird.class);

        results.testEvents().assertStatistics(s -> s.succeeded(2).failed(1));
        assertThat(SEEN).hasSize(3);
        String message = failureMessage(results);
        assertThat(message).contains("boom");
        assertThat(message.lines().toList().getLast())
                .isEqualTo(
                        "replay: mvn -q verify -pl metaroce-core"
                                + " -Dtest='SeededExtensionTest$FailingOnThird#sample'"
                                + " -Dmetaroce.seed="
                                + SEEN.getLast());
    }

    @Test
    void theReplayedSeedRunsAlone() {
        System.setProperty(SeededExtension.SEED_PROPERTY, "123");

        run(Passing.class).testEvents().assertStatistics(s -> s.succeeded(1));

        assertThat(SEEN).containsExactly(123L);
    }

    @Test
    void aSeedThatIsNoNumberIsNamed() {
        assertThatThrownBy(() -> SeededExtension.seeds("a.B#c", 1, "12x"))
                .hasMessage("metaroce.seed: '12x' is not a whole number");
    }

    @Test
    void aSkippedCaseIsNoFailure() {
        run(Skipping.class).testEvents().assertStatistics(s -> s.aborted(4).failed(0));
    }

    @Test
    void failuresAroundTheMethodNameTheSeedToo() {
        assertThat(failureMessage(run(FailingSetUp.class))).contains("-Dmetaroce.seed=");
    }

    @Test
    void replayLinesOfOtherModulesBuildWhatTheyNeed() {
        assertThat(SeededExtension.replayLine("metaroce-net", Object.class, "m", 7))
                .isEqualTo(
                        "replay: mvn -q verify -pl metaroce-net -am"
                                + " -Dsurefire.failIfNoSpecifiedTests=false -DskipITs"
                                + " -Dtest=Object#m -Dmetaroce.seed=7");
    }

    private static long first(String name) {
        LongStream seeds = SeededExtension.seeds(name, 1, null);
        return seeds.findFirst().orElseThrow();
    }

    private static EngineExecutionResults run(Class<?> sample) {
        return EngineTestKit.engine("junit-jupiter").selectors(selectClass(sample)).execute();
    }

    private static String failureMessage(EngineExecutionResults results) {
        return results.testEvents().failed().stream()
                .map(event -> event.getRequiredPayload(TestExecutionResult.class))
                .map(result -> result.getThrowable().orElseThrow().getMessage())
                .findFirst()
                .orElseThrow();
    }

    static class Passing {
        @Seeded(cases = 50)
        void sample(long seed) {
            SEEN.add(seed);
        }
    }

    static class FailingOnThird {
        @Seeded
        void sample(long seed) {
            SEEN.add(seed);
            if (SEEN.size() == 3) {
                throw new IllegalStateException("boom");
            }
        }
    }

    static class Skipping {
        @Seeded(cases = 4)
        void sample(long seed) {
            Assumptions.abort("not here");
        }
    }

    static class FailingSetUp {
        @BeforeEach
        void setUp() {
            throw new IllegalStateException("no set-up");
        }

        @Seeded
        void sample(long seed) {}
    }
}
