package dev.metaroce.tools.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.tools.cli.ToolException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import javax.xml.parsers.DocumentBuilderFactory;

/** Charts as files: readable by any reader of XML, with their words as words. */
class ChartFilesTest {
    @TempDir private Path directory;

    private static LineChart lines() {
        LineChart chart =
                new LineChart("lines", "Two lines", "loss [%]", "goodput [Gb/s]").logarithmic();
        chart.point("one", 0.01, 90, 80, 95);
        chart.point("one", 1, 50);
        chart.point("other", 0.01, 40);
        chart.point("other", 1, Double.NaN);
        return chart;
    }

    private static BarChart bars() {
        BarChart chart = new BarChart("bars", "Three bars", "rate [%]");
        chart.bar("first", "", 70);
        chart.bar("second", "", 80.26);
        chart.bar("none", "", Double.NaN);
        chart.reference(70);
        return chart;
    }

    private String write(Chart chart) throws IOException {
        ChartFiles.in(directory).write(chart);
        return Files.readString(directory.resolve(chart.name() + ".svg"));
    }

    private List<String> words(Chart chart) throws Exception {
        write(chart);
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        Document document =
                factory.newDocumentBuilder()
                        .parse(directory.resolve(chart.name() + ".svg").toFile());
        assertThat(document.getDocumentElement().getNodeName()).isEqualTo("svg");
        NodeList texts = document.getElementsByTagName("text");
        List<String> words = new ArrayList<>();
        for (int i = 0; i < texts.getLength(); i++) {
            words.add(texts.item(i).getTextContent());
        }
        return words;
    }

    @Test
    void linesHaveTitleUnitsAndLegend() throws Exception {
        assertThat(words(lines()))
                .contains("Two lines", "loss [%]", "goodput [Gb/s]", "one", "other");
    }

    @Test
    void barsHaveTheirNamesAndValues() throws Exception {
        assertThat(words(bars()))
                .contains("Three bars", "rate [%]", "first", "second", "none", "70.0", "80.3")
                .doesNotContain("NaN");
    }

    @Test
    void theSameChartGivesTheSameBytes() throws IOException {
        assertThat(write(lines())).isEqualTo(write(lines()));
        assertThat(write(bars())).isEqualTo(write(bars()));
    }

    @Test
    void aDirectoryIsMadeWithItsParents() throws IOException {
        Path deep = directory.resolve("a/b");

        ChartFiles.in(deep).write(bars());

        assertThat(deep.resolve("bars.svg")).isNotEmptyFile();
    }

    @Test
    void aFileInTheWayIsToldBeforeAnythingRuns() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "");

        assertThatThrownBy(() -> ChartFiles.in(file))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("--charts")
                .hasMessageContaining("name another one");
    }
}
