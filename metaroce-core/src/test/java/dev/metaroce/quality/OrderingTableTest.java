package dev.metaroce.quality;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.verbs.Ordering;
import dev.metaroce.verbs.Ordering.Kind;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** The orders that the specification promises and those that {@link Ordering} answers are one. */
class OrderingTableTest {
    @Test
    void theSpecificationAndTheQueryAgree() {
        List<String> written =
                SourceTree.ofThisBuild()
                        .read("docs/protocol.md")
                        .lines()
                        .dropWhile(line -> !line.startsWith("| first \\ then |"))
                        .takeWhile(line -> line.startsWith("|"))
                        .toList();
        List<String> answered = new ArrayList<>();
        answered.add("| first \\ then | WRITE | takes a receive | READ | atomic |");
        answered.add("|---|---|---|---|---|");
        for (Kind first : Kind.values()) {
            StringBuilder row = new StringBuilder("| ").append(name(first)).append(" |");
            for (Kind second : Kind.values()) {
                String plain = Ordering.of(first, second, false).toString();
                String fenced = Ordering.of(first, second, true).toString();
                row.append(' ').append(plain);
                row.append(fenced.equals(plain) ? " |" : "; with FENCE " + fenced + " |");
            }
            answered.add(row.toString());
        }
        assertThat(written).isEqualTo(answered);
    }

    private static String name(Kind kind) {
        return switch (kind) {
            case WRITE -> "WRITE";
            case SEND -> "takes a receive";
            case READ -> "READ";
            case ATOMIC -> "atomic";
        };
    }
}
