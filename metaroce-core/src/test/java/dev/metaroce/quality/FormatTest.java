package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.googlejavaformat.java.Formatter;
import com.google.googlejavaformat.java.FormatterException;
import com.google.googlejavaformat.java.ImportOrderer;
import com.google.googlejavaformat.java.JavaFormatterOptions;
import com.google.googlejavaformat.java.JavaFormatterOptions.Style;
import com.google.googlejavaformat.java.RemoveUnusedImports;
import com.google.googlejavaformat.java.StringWrapper;

import org.junit.jupiter.api.Test;

import java.util.List;

/**
 * The layout of all Java sources is what google-java-format makes of them.
 *
 * <p>This is a test and no Maven plugin because tests run on JDK 25 whatever JVM Maven runs on. The
 * steps are those of its command line, with which ./metaroce format repairs what this test reports.
 */
class FormatTest {
    private final Formatter formatter =
            new Formatter(JavaFormatterOptions.builder().style(Style.AOSP).build());

    @Test
    void javaSourcesAreFormatted() {
        List<String> unformatted =
                SourceTree.ofThisBuild().javaFiles().parallelStream()
                        .filter(file -> file.name().contains("/src/"))
                        .filter(file -> !isFormatted(file))
                        .map(SourceFile::name)
                        .toList();

        assertThat(unformatted)
                .as("files whose layout differs; run ./metaroce format and commit the result")
                .isEmpty();
    }

    private boolean isFormatted(SourceFile file) {
        String text = file.text();
        try {
            String formatted = formatter.formatSource(text);
            formatted = RemoveUnusedImports.removeUnusedImports(formatted);
            formatted = ImportOrderer.reorderImports(formatted, Style.AOSP);
            formatted = StringWrapper.wrap(formatted, formatter);
            return formatted.equals(text);
        } catch (FormatterException e) {
            throw new AssertionError(file.name() + " cannot be formatted: " + e.getMessage(), e);
        }
    }
}
