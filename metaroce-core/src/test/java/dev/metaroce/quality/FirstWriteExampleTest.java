package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.stream.Collectors;

/** The first example is short, and the front page shows all of it. */
class FirstWriteExampleTest {
    private final SourceTree checkout = SourceTree.ofThisBuild();

    private String body() {
        return checkout.read("examples/FirstWrite.java")
                .lines()
                .dropWhile(line -> !line.contains("void main("))
                .skip(1)
                .takeWhile(line -> !line.equals("    }"))
                .map(line -> line.startsWith("        ") ? line.substring(8) : line)
                .collect(Collectors.joining("\n"));
    }

    @Test
    void aFirstWriteTakesLessThanTwentyFiveLines() {
        assertThat(body().lines()).hasSizeBetween(10, 24);
    }

    @Test
    void theFrontPageShowsItAsItIs() {
        assertThat(checkout.read("README.md")).contains("```java\n" + body() + "\n```");
    }
}
