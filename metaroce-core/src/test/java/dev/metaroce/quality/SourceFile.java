package dev.metaroce.quality;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** One file of the checkout; knows its module, whether it is a test, and its text. */
record SourceFile(Path root, Path path) implements Comparable<SourceFile> {
    private static final Set<String> TEXT_SUFFIXES =
            Set.of(
                    "java",
                    "md",
                    "xml",
                    "sh",
                    "yml",
                    "yaml",
                    "toml",
                    "json",
                    "properties",
                    "html",
                    "js",
                    "css",
                    "lua",
                    "txt",
                    "config",
                    "p4",
                    "pml",
                    "py",
                    "svg");
    private static final Set<String> TEXT_NAMES =
            Set.of("metaroce", "run", "NOTICE", ".gitignore", ".gitattributes", ".editorconfig");

    /** The path below the root, with slashes, as messages print it. */
    String name() {
        return root.relativize(path).toString().replace('\\', '/');
    }

    String module() {
        return name().contains("/") ? name().substring(0, name().indexOf('/')) : "";
    }

    boolean isJava() {
        return name().endsWith(".java");
    }

    boolean isMarkdown() {
        return name().endsWith(".md");
    }

    boolean isMain() {
        return name().contains("/src/main/");
    }

    boolean isTest() {
        return name().contains("/src/test/");
    }

    boolean isText() {
        String file = path.getFileName().toString();
        int dot = file.lastIndexOf('.');
        return TEXT_NAMES.contains(file) || TEXT_SUFFIXES.contains(file.substring(dot + 1));
    }

    String text() {
        try {
            return Files.readString(path, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(name(), e);
        }
    }

    List<String> lines() {
        return text().lines().toList();
    }

    @Override
    public int compareTo(SourceFile other) {
        return name().compareTo(other.name());
    }
}
