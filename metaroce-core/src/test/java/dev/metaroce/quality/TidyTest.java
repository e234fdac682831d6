package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** House rules that a compiler does not know, checked on every file of the checkout. */
class TidyTest {
    private static final String CORE = "metaroce-core/src/main/java/dev/metaroce/";

    private final SourceTree checkout = SourceTree.ofThisBuild();
    @TempDir private Path scratch;

    @Test
    void javaKeepsTheHouseRules() {
        List<String> problems = new ArrayList<>();
        checkout.javaFiles().forEach(file -> problems.addAll(JavaRules.check(file)));
        assertThat(problems).isEmpty();
    }

    @Test
    void textKeepsTheHouseRules() {
        List<String> problems = new ArrayList<>();
        checkout.files().stream()
                .filter(SourceFile::isText)
                .forEach(file -> problems.addAll(TextRules.check(file)));
        assertThat(problems).isEmpty();
    }

    @Test
    void linksBetweenPagesResolve() {
        List<String> problems = new ArrayList<>();
        checkout.files().stream()
                .filter(SourceFile::isMarkdown)
                .forEach(file -> problems.addAll(MarkdownLinks.check(file)));
        assertThat(problems).isEmpty();
    }

    @Test
    void everyPackageSaysWhatItIsFor() {
        assertThat(packagesWithoutInfo(checkout))
                .as("main packages without a package-info.java that has Javadoc and @NullMarked")
                .isEmpty();
    }

    @Test
    void theRulesSeeTheCheckout() {
        assertThat(checkout.javaFiles())
                .extracting(SourceFile::name)
                .contains(CORE + "util/package-info.java");
        assertThat(checkout.files()).filteredOn(SourceFile::isMarkdown).isNotEmpty();
    }

    @Test
    void bannedCallsInCoreAreFoundAndTheReplacementIsNamed() throws IOException {
        SourceFile bad =
                write(
                        CORE + "wire/Bad.java",
                        """
                        import static java.lang.System.currentTimeMillis;
                        import java.util.HashMap;
                        class Bad {
                            // System.nanoTime() in a comment does no harm
                            String s = "System.out";
                            long a = System.nanoTime();
                            Object b = new java.util.Random(1);
                            Object c = java.time.Instant.now();
                            double d = Math.random();
                            int e = java.util.concurrent.ThreadLocalRandom.current().nextInt();
                            void f(Exception x) { System.out.println(); x.printStackTrace(); }
                            synchronized void g() { synchronized (this) { System.err.flush(); } }
                        }
                        """);

        assertThat(JavaRules.check(bad))
                .extracting(
                        problem -> problem.replaceAll(".*Bad.java:(\\d+): ([\\w.]+):.*", "$1 $2"))
                .containsExactlyInAnyOrder(
                        "1 System.currentTimeMillis",
                        "2 HashMap",
                        "6 System.nanoTime",
                        "7 Random",
                        "8 Instant.now",
                        "9 Math.random",
                        "10 ThreadLocalRandom",
                        "11 System.out",
                        "11 printStackTrace",
                        "12 synchronized",
                        "12 synchronized",
                        "12 System.err");
        assertThat(JavaRules.check(bad)).anyMatch(p -> p.endsWith("argument: long nowNs"));
    }

    @Test
    void bansApplyOnlyWhereTheyAreMeant() throws IOException {
        String body =
                "class X { Object m = new java.util.HashMap<>(); long t = System.nanoTime(); }\n";

        assertThat(JavaRules.check(write("metaroce-net/src/main/java/X.java", body))).isEmpty();
        assertThat(JavaRules.check(write(CORE + "memory/X.java", body)))
                .singleElement()
                .asString()
                .contains("System.nanoTime");
    }

    @Test
    void sleepingTestsAreFound() throws IOException {
        String body = "class X { void t() throws Exception { Thread.sleep(5); } }\n";

        assertThat(JavaRules.check(write("metaroce-net/src/test/java/XTest.java", body)))
                .hasSize(1);
        assertThat(JavaRules.check(write("metaroce-net/src/main/java/X.java", body))).isEmpty();
    }

    @Test
    void longMethodsLinesAndFilesAreFound() throws IOException {
        SourceFile method =
                write(
                        "a/src/main/java/A.java",
                        "class A {\nvoid a() {\n" + ";\n".repeat(69) + "}\n}\n");
        SourceFile line = write("a/src/main/java/B.java", "// " + "b".repeat(98) + "\n");
        SourceFile file = write("a/src/main/java/C.java", "\n".repeat(701));

        assertThat(JavaRules.check(method)).singleElement().asString().contains("a has 71 lines");
        assertThat(TextRules.check(line)).singleElement().asString().contains("100 columns");
        assertThat(TextRules.check(file)).singleElement().asString().contains("701 lines");
    }

    @Test
    void tabsBlanksAndMachinePathsAreFound() throws IOException {
        SourceFile file =
                write("x.md", "a\tb\ntrailing \nsee /tmp" + "/wt/x\nhttps://a.example/tmp\n");

        assertThat(TextRules.check(file)).hasSize(3);
    }

    @Test
    void brokenLinksAreFound() throws IOException {
        SourceFile page =
                write(
                        "docs/a.md",
                        """
                        # Head Line, twice
                        [ok](b.md) [ok](#head-line-twice) [ok](../docs/b.md#乙-b) [ok](https://a.example)
                        [no](c.md) [no](#other) [no](b.md#nothing) `[code](d.md)`
                        ```
                        [fenced](e.md)
                        ```
                        """);
        write("docs/b.md", "## 乙 B\n");

        assertThat(MarkdownLinks.check(page))
                .containsExactly(
                        "docs/a.md:3: link to c.md: there is no such file",
                        "docs/a.md:3: link to #other: no such heading",
                        "docs/a.md:3: link to b.md#nothing: no such heading");
    }

    @Test
    void packagesWithoutInfoAreFound() throws IOException {
        write("m/src/main/java/p/q/A.java", "package p.q;\nclass A {}\n");
        write("m/src/main/java/p/r/A.java", "package p.r;\nclass A {}\n");
        write("m/src/main/java/p/r/package-info.java", "/** R. */\n@NullMarked\npackage p.r;\n");

        assertThat(packagesWithoutInfo(new SourceTree(scratch)))
                .containsExactly("m/src/main/java/p/q");
    }

    private static TreeSet<String> packagesWithoutInfo(SourceTree tree) {
        TreeSet<String> missing = new TreeSet<>();
        for (SourceFile file : tree.javaFiles()) {
            if (file.isMain()) {
                String directory = file.name().substring(0, file.name().lastIndexOf('/'));
                String info = directory + "/package-info.java";
                String text = tree.has(info) ? tree.read(info) : "";
                if (!text.contains("@NullMarked") || !text.contains("/**")) {
                    missing.add(directory);
                }
            }
        }
        return missing;
    }

    private SourceFile write(String name, String text) throws IOException {
        Path file = scratch.resolve(name);
        Files.createDirectories(file.getParent());
        return new SourceFile(scratch, Files.writeString(file, text));
    }
}
