package dev.metaroce.tools.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.sim.study.AblationStudy;
import dev.metaroce.sim.study.AblationStudy.Variant;
import dev.metaroce.tools.InProcess;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The studies that run many seeds: tables, CSV, document and charts say the same each time. */
class SeedStudyTest {
    @TempDir private Path directory;

    private static InProcess study(String line, String... more) {
        List<String> arguments = new ArrayList<>(List.of("study"));
        arguments.addAll(List.of(line.split(" ")));
        arguments.addAll(List.of("--seeds", "2"));
        arguments.addAll(List.of(more));
        return InProcess.run(arguments);
    }

    private static Map<String, String> files(Path place) throws IOException {
        Map<String, String> texts = new TreeMap<>();
        try (Stream<Path> files = Files.list(place)) {
            for (Path file : files.toList()) {
                texts.put(file.getFileName().toString(), Files.readString(file));
            }
        }
        return texts;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "loss --part random --size 256k | random_loss_go_back_n | share_min"
                        + " | loss-goodput.svg",
                "loss --part short --size 64k | short_transfers | duration_us_max"
                        + " | loss-short.svg",
                "incast --senders 2,4 --size 64k | no_hints | over_bound_max | incast-last.svg"
                        + " incast-queue.svg incast-victim.svg newcomers-hints.svg"
                        + " newcomers-no-hints.svg newcomers-nscc.svg newcomers-queue.svg"
                        + " newcomers-window.svg",
                "planes --pairs 1 --rate 25G | linear | linear_share"
                        + " | planes-failure.svg planes-linear.svg",
                "ablation --task loss --size 256k | loss | over_base"
                        + " | ablation-loss.svg ablation-paths.svg",
            })
    void tablesAndChartsAreTheSameTwiceWithAnyThreads(
            String line, String table, String quantity, String charts) throws IOException {
        Path csv = directory.resolve("figures.csv");
        Path first = directory.resolve("first");
        Path second = directory.resolve("second");
        String to = " --csv " + csv + " --charts " + first + " --threads 1";
        InProcess run = study(line + to);

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("2 seeds").doesNotContain("NaN");
        List<String> lines = Files.readAllLines(csv);
        assertThat(lines).startsWith("table,row,quantity,value");
        assertThat(lines.subList(1, lines.size()))
                .allMatch(l -> l.matches("[a-z0-9_]+,(\"[^\"]+\"|[^,]+),[a-z0-9_]+,-?[0-9.]*"))
                .anyMatch(l -> l.startsWith(table + ",") && l.contains("," + quantity + ","));
        assertThat(files(first).keySet()).containsExactly(charts.split(" "));

        InProcess again = study(line + " --threads 2 --charts " + second);

        assertThat(again.out()).isEqualTo(run.out());
        assertThat(files(second)).isEqualTo(files(first));
    }

    @Test
    void theDocumentHasARowForEachVariant() {
        InProcess run = study("ablation --task loss --size 256k", "--json", "-");
        JsonNode document = JsonMapper.shared().readTree(run.out());

        assertThat(document.get("command").asString()).isEqualTo("metaroce study ablation");
        assertThat(document.get("error").isNull()).isTrue();
        assertThat(document.get("loss").valueStream().map(row -> row.get("row").asString()))
                .containsExactlyElementsOf(
                        AblationStudy.variants().stream().map(Variant::name).toList());
        assertThat(document.get("loss").get(0).get("over_base").asDouble()).isEqualTo(1);
        assertThat(document.get("loss").valueStream())
                .allSatisfy(row -> assertThat(row.get("failed").asInt()).isZero());
    }

    @Test
    void aPlaneDiesWithoutAnError() {
        InProcess run = study("planes --pairs 1 --rate 25G", "--json", "-");
        JsonNode failure = JsonMapper.shared().readTree(run.out()).get("failure").get(0);

        assertThat(failure.get("errors").asInt()).isZero();
        assertThat(failure.get("reroutes").asInt()).isPositive();
    }
}
