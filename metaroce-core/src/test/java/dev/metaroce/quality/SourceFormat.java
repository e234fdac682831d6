package dev.metaroce.quality;

import com.google.googlejavaformat.java.Formatter;
import com.google.googlejavaformat.java.FormatterException;
import com.google.googlejavaformat.java.ImportOrderer;
import com.google.googlejavaformat.java.JavaFormatterOptions;
import com.google.googlejavaformat.java.JavaFormatterOptions.Style;
import com.google.googlejavaformat.java.RemoveUnusedImports;
import com.google.googlejavaformat.java.StringWrapper;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/**
 * The one layout of Java sources: google-java-format, AOSP style, with this project's requirement
 * marks left alone.
 *
 * <p>{@link FormatTest} checks with it. {@code ./metaroce format} runs {@link #main} straight from
 * this source file, so that it works while the rest does not compile: what it uses of this package
 * must need nothing but the JDK and the formatter.
 */
final class SourceFormat {
    private static final Formatter FORMATTER =
            new Formatter(JavaFormatterOptions.builder().style(Style.AOSP).build());

    private SourceFormat() {}

    static String format(String text) throws FormatterException {
        String formatted = FORMATTER.formatSource(text);
        formatted = RemoveUnusedImports.removeUnusedImports(formatted);
        formatted = ImportOrderer.reorderImports(formatted, Style.AOSP);
        formatted = StringWrapper.wrap(formatted, FORMATTER);
        // The formatter sees a comment that lacks its blank in the mark of a requirement.
        return formatted.replaceAll("(?m)^( *)// = MR-", "$1//= MR-");
    }

    static List<SourceFile> sources(SourceTree tree) {
        return tree.javaFiles().stream().filter(file -> file.name().contains("/src/")).toList();
    }

    /** Lays out the checkout around the working directory and prints what it changed. */
    public static void main(String[] args) {
        List<String> failed =
                sources(SourceTree.ofThisBuild()).parallelStream()
                        .filter(file -> !rewrite(file))
                        .map(SourceFile::name)
                        .toList();
        if (!failed.isEmpty()) {
            System.exit(1);
        }
    }

    private static boolean rewrite(SourceFile file) {
        String text = file.text();
        try {
            String formatted = format(text);
            if (!formatted.equals(text)) {
                Files.writeString(file.path(), formatted);
                System.out.println(file.name());
            }
            return true;
        } catch (FormatterException | IOException e) {
            System.err.println(file.name() + ": " + e.getMessage());
            return false;
        }
    }
}
