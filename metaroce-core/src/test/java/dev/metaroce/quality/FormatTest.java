package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.googlejavaformat.java.FormatterException;

import org.junit.jupiter.api.Test;

import java.util.List;

/**
 * The layout of all Java sources is what {@link SourceFormat} makes of them.
 *
 * <p>This is a test and no Maven plugin because tests run on JDK 25 whatever JVM Maven runs on.
 */
class FormatTest {
    @Test
    void javaSourcesAreFormatted() {
        List<String> unformatted =
                SourceFormat.sources(SourceTree.ofThisBuild()).parallelStream()
                        .filter(file -> !isFormatted(file))
                        .map(SourceFile::name)
                        .toList();

        assertThat(unformatted)
                .as("files whose layout differs; run ./metaroce format and commit the result")
                .isEmpty();
    }

    @Test
    void importsAreSortedAndMarksAreKept() throws FormatterException {
        String text =
                """
                package p;
                import java.util.Set;
                import java.util.List;
                class A {
                  //= MR-4.2-3
                  List<String> a;
                  //a remark
                }
                """;

        assertThat(SourceFormat.format(text))
                .isEqualTo(
                        """
                        package p;

                        import java.util.List;

                        class A {
                            //= MR-4.2-3
                            List<String> a;
                            // a remark
                        }
                        """);
    }

    private static boolean isFormatted(SourceFile file) {
        String text = file.text();
        try {
            return SourceFormat.format(text).equals(text);
        } catch (FormatterException e) {
            throw new AssertionError(file.name() + " cannot be formatted: " + e.getMessage(), e);
        }
    }
}
