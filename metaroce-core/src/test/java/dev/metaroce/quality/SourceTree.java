package dev.metaroce.quality;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The checkout as the quality gates see it: every file that people edit, none that tools made.
 *
 * @param root the directory that holds the parent POM
 */
record SourceTree(Path root) {
    private static final Set<String> SKIPPED_DIRECTORIES =
            Set.of("target", "node_modules", ".git", ".idea", ".vscode", ".settings");

    /** The checkout that the running test belongs to. */
    static SourceTree ofThisBuild() {
        Path directory = Path.of("").toAbsolutePath();
        while (directory != null && !Files.isDirectory(directory.resolve(".mvn"))) {
            directory = directory.getParent();
        }
        if (directory == null) {
            throw new IllegalStateException("no directory above the tests holds .mvn");
        }
        return new SourceTree(directory);
    }

    List<SourceFile> files() {
        List<SourceFile> found = new ArrayList<>();
        try {
            Files.walkFileTree(
                    root,
                    new SimpleFileVisitor<>() {
                        @Override
                        public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes a) {
                            boolean skip =
                                    !dir.equals(root)
                                            && SKIPPED_DIRECTORIES.contains(
                                                    dir.getFileName().toString());
                            return skip ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                        }

                        @Override
                        public FileVisitResult visitFile(Path file, BasicFileAttributes a) {
                            // .git is a file, not a directory, in a linked work tree
                            if (a.isRegularFile() && !file.endsWith(".git")) {
                                found.add(new SourceFile(root, file));
                            }
                            return FileVisitResult.CONTINUE;
                        }
                    });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        found.sort(null);
        return found;
    }

    List<SourceFile> javaFiles() {
        return files().stream().filter(SourceFile::isJava).toList();
    }

    String read(String relative) {
        return new SourceFile(root, root.resolve(relative)).text();
    }

    boolean has(String relative) {
        return Files.exists(root.resolve(relative));
    }
}
