package dev.metaroce.quality;

import com.sun.source.tree.AnnotationTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.SynchronizedTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * The rules about Java code, checked on the syntax tree, so that words in comments and strings do
 * not count.
 */
final class JavaRules {
    static final int METHOD_LINES_MAX = 70;

    /** Modules whose behaviour must follow from their inputs and seeds alone. */
    private static final Set<String> DETERMINISTIC = Set.of("metaroce-core", "metaroce-sim");

    /** Packages of core in which iteration order and locks would reach the wire. */
    private static final List<String> DATA_PLANE =
            List.of("wire", "ring", "congestion", "path", "transport", "rocev2", "engine");

    /** A dotted name that a source may not use, and what to use instead. */
    private record Ban(String name, String instead) {}

    private static final List<Ban> DETERMINISTIC_BANS =
            List.of(
                    new Ban("System.nanoTime", "take the time as an argument: long nowNs"),
                    new Ban("System.currentTimeMillis", "take the time as an argument: long nowNs"),
                    new Ban("Instant.now", "take the time as an argument: long nowNs"),
                    new Ban("Math.random", "take a dev.metaroce.util.Rng and fork it by label"),
                    new Ban(
                            "ThreadLocalRandom",
                            "take a dev.metaroce.util.Rng and fork it by label"),
                    new Ban("Random", "take a dev.metaroce.util.Rng and fork it by label"),
                    new Ban("System.out", "report a fact to the EventSink"),
                    new Ban("System.err", "report a fact to the EventSink"),
                    new Ban("printStackTrace", "return a status value or use Invariant.check"));

    private static final List<Ban> DATA_PLANE_BANS =
            List.of(
                    new Ban("HashMap", "use an array or an insertion-ordered structure"),
                    new Ban("HashSet", "use an array, a WindowBitmap or an insertion-ordered set"));

    private static final List<Ban> TEST_BANS =
            List.of(new Ban("Thread.sleep", "advance virtual time, or wait for the fact itself"));

    private static final String NO_SYNCHRONIZED =
            "one engine is one thread; publish across threads through PostRing/CompletionRing";

    private JavaRules() {}

    /** All violations in a Java file, one line each: where, what, and what to do instead. */
    static List<String> check(SourceFile file) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavacTask task =
                (JavacTask)
                        compiler.getTask(
                                null,
                                null,
                                diagnostic -> {},
                                List.of("-proc:none"),
                                null,
                                List.of(new Text(file)));
        try {
            CompilationUnitTree unit = task.parse().iterator().next();
            Scanner scanner = new Scanner(file, unit, Trees.instance(task).getSourcePositions());
            scanner.scan(unit, null);
            return scanner.problems;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Ban> bansFor(SourceFile file) {
        List<Ban> bans = new ArrayList<>();
        if (file.isTest()) {
            bans.addAll(TEST_BANS);
        }
        if (file.isMain() && DETERMINISTIC.contains(file.module())) {
            bans.addAll(DETERMINISTIC_BANS);
        }
        if (isDataPlane(file)) {
            bans.addAll(DATA_PLANE_BANS);
        }
        return bans;
    }

    private static boolean isDataPlane(SourceFile file) {
        return DATA_PLANE.stream()
                .map(name -> "metaroce-core/src/main/java/dev/metaroce/" + name + "/")
                .anyMatch(file.name()::startsWith);
    }

    private static final class Text extends SimpleJavaFileObject {
        private final String text;

        Text(SourceFile file) {
            super(file.path().toUri(), JavaFileObject.Kind.SOURCE);
            text = file.text();
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    private static final class Scanner extends TreeScanner<@Nullable Void, @Nullable Void> {
        private final List<String> problems = new ArrayList<>();
        private final SourceFile file;
        private final CompilationUnitTree unit;
        private final SourcePositions positions;
        private final List<Ban> bans;

        Scanner(SourceFile file, CompilationUnitTree unit, SourcePositions positions) {
            this.file = file;
            this.unit = unit;
            this.positions = positions;
            bans = bansFor(file);
        }

        @Override
        public @Nullable Void visitMemberSelect(MemberSelectTree tree, @Nullable Void none) {
            String dotted = tree.toString();
            for (Ban ban : bans) {
                if (dotted.equals(ban.name) || dotted.endsWith("." + ban.name)) {
                    report(tree, ban.name + ": " + ban.instead);
                    return none; // the parts of a reported name are not reported again
                }
            }
            return super.visitMemberSelect(tree, none);
        }

        @Override
        public @Nullable Void visitIdentifier(IdentifierTree tree, @Nullable Void none) {
            for (Ban ban : bans) {
                if (tree.getName().contentEquals(ban.name)) {
                    report(tree, ban.name + ": " + ban.instead);
                }
            }
            return super.visitIdentifier(tree, none);
        }

        @Override
        public @Nullable Void visitAnnotation(AnnotationTree tree, @Nullable Void none) {
            return none; // names in annotations do nothing at run time
        }

        @Override
        public @Nullable Void visitSynchronized(SynchronizedTree tree, @Nullable Void none) {
            if (isDataPlane(file)) {
                report(tree, "synchronized: " + NO_SYNCHRONIZED);
            }
            return super.visitSynchronized(tree, none);
        }

        @Override
        public @Nullable Void visitMethod(MethodTree tree, @Nullable Void none) {
            if (isDataPlane(file)
                    && tree.getModifiers().getFlags().contains(Modifier.SYNCHRONIZED)) {
                report(tree, "synchronized: " + NO_SYNCHRONIZED);
            }
            long end = positions.getEndPosition(unit, tree);
            long lines = end < 0 ? 0 : line(end) - line(positions.getStartPosition(unit, tree)) + 1;
            if (lines > METHOD_LINES_MAX) {
                report(
                        tree,
                        "method %s has %d lines, more than %d: keep the switch, move straight-line"
                                        .formatted(tree.getName(), lines, METHOD_LINES_MAX)
                                + " work into helpers");
            }
            return super.visitMethod(tree, none);
        }

        private void report(Tree tree, String problem) {
            long at = line(positions.getStartPosition(unit, tree));
            problems.add(file.name() + ":" + at + ": " + problem);
        }

        private long line(long position) {
            return unit.getLineMap().getLineNumber(position);
        }
    }
}
