package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Every requirement of the protocol is honoured somewhere, or refused with a reason. */
class SpecMarksTest {
    @TempDir private Path scratch;

    @Test
    void everyRequirementIsMarkedTestedOrExcused() {
        SpecMarks marks = new SpecMarks(SourceTree.ofThisBuild());
        assertThat(marks.canCheck()).as("docs/protocol.md exists").isTrue();

        assertThat(marks.check()).isEmpty();
    }

    @Test
    void eachKindOfMentionHonoursARequirement() throws IOException {
        write(
                SpecMarks.PROTOCOL,
                "**MR-4.2-3** a. **MR-4.2-4** b. **MR-A.1-1** c, as MR-4.2-3 says.");
        write("m/src/main/java/A.java", "class A {\n    //= MR-4.2-3\n}\n");
        write("m/src/test/java/ATest.java", "/** MR-4.2-4 */ class ATest {}\n");
        write(SpecMarks.EXCEPTIONS, "- MR-A.1-1: needs hardware.\n");

        assertThat(new SpecMarks(new SourceTree(scratch)).check()).isEmpty();
    }

    @Test
    void forgottenUnknownEmptyAndDoubleIdsAreReported() throws IOException {
        write(SpecMarks.PROTOCOL, "**MR-1-1** a.\n**MR-1-2** b.\n**MR-1-2** again.\n");
        write(
                "m/src/main/java/A.java",
                "class A {\n"
                        + "    //= MR-1-2\n"
                        + "    //= MR-9-9\n"
                        + "    //= later\n"
                        + "    // MR-1-1 is no mark\n"
                        + "}\n");

        assertThat(new SpecMarks(new SourceTree(scratch)).check())
                .containsExactlyInAnyOrder(
                        "docs/protocol.md: MR-1-2 is stated twice",
                        "m/src/main/java/A.java:4: a //= mark without a requirement id",
                        "m/src/main/java/A.java:3: MR-9-9 is not a requirement of docs/protocol.md",
                        "docs/protocol.md: MR-1-1 has no //= mark in code, no mention in a test"
                                + " and no entry in docs/spec-exceptions.md");
    }

    @Test
    void aProtocolWithoutRequirementsIsReported() throws IOException {
        write(SpecMarks.PROTOCOL, "# Protocol\n");

        assertThat(new SpecMarks(new SourceTree(scratch)).check())
                .singleElement()
                .asString()
                .contains("states no requirement");
    }

    private void write(String name, String text) throws IOException {
        Path file = scratch.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
