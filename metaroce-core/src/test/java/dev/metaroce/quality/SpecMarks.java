package dev.metaroce.quality;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Ties the requirements of the protocol document to the code and tests that honour them.
 *
 * <ul>
 *   <li>{@code **MR-4.2-3**} in docs/protocol.md states a requirement;
 *   <li>{@code //= MR-4.2-3} in main code marks the line that enforces it;
 *   <li>any mention in test code says which test covers it;
 *   <li>any mention in docs/spec-exceptions.md says why neither exists.
 * </ul>
 */
record SpecMarks(SourceTree tree) {
    static final String PROTOCOL = "docs/protocol.md";
    static final String EXCEPTIONS = "docs/spec-exceptions.md";

    private static final String ID = "MR-[0-9A-Z]+(?:\\.[0-9]+)*-[0-9]+";
    private static final Pattern MENTION = Pattern.compile("\\b(" + ID + ")\\b");
    private static final Pattern STATEMENT = Pattern.compile("\\*\\*(" + ID + ")\\*\\*");
    private static final Pattern MARK_LINE = Pattern.compile("^\\s*//=(.*)$");

    /** Nothing can be checked before the protocol document exists. */
    boolean canCheck() {
        return tree.has(PROTOCOL);
    }

    List<String> check() {
        List<String> problems = new ArrayList<>();
        Set<String> stated = statedOnce(problems);
        Map<String, String> uses = new TreeMap<>();
        for (SourceFile file : tree.javaFiles()) {
            if (file.isMain()) {
                collectMarks(file, uses, problems);
            } else if (file.isTest() && !file.name().contains("/dev/metaroce/quality/")) {
                collectMentions(file, uses);
            }
        }
        if (tree.has(EXCEPTIONS)) {
            collectMentions(new SourceFile(tree.root(), tree.root().resolve(EXCEPTIONS)), uses);
        }
        if (stated.isEmpty()) {
            problems.add(PROTOCOL + ": states no requirement of the form **MR-4.2-3**");
        }
        for (String id : stated) {
            if (!uses.containsKey(id)) {
                problems.add(
                        "%s: %s has no //= mark in code, no mention in a test and no entry in %s"
                                .formatted(PROTOCOL, id, EXCEPTIONS));
            }
        }
        uses.forEach(
                (id, where) -> {
                    if (!stated.contains(id)) {
                        problems.add(where + ": " + id + " is not a requirement of " + PROTOCOL);
                    }
                });
        return problems;
    }

    private Set<String> statedOnce(List<String> problems) {
        Set<String> stated = new TreeSet<>();
        Matcher statement = STATEMENT.matcher(tree.read(PROTOCOL));
        while (statement.find()) {
            if (!stated.add(statement.group(1))) {
                problems.add(PROTOCOL + ": " + statement.group(1) + " is stated twice");
            }
        }
        return stated;
    }

    private static void collectMarks(
            SourceFile file, Map<String, String> uses, List<String> problems) {
        List<String> lines = file.lines();
        for (int i = 0; i < lines.size(); i++) {
            Matcher mark = MARK_LINE.matcher(lines.get(i));
            if (mark.matches()) {
                String where = file.name() + ":" + (i + 1);
                if (!collect(mark.group(1), where, uses)) {
                    problems.add(where + ": a //= mark without a requirement id");
                }
            }
        }
    }

    private static void collectMentions(SourceFile file, Map<String, String> uses) {
        List<String> lines = file.lines();
        for (int i = 0; i < lines.size(); i++) {
            collect(lines.get(i), file.name() + ":" + (i + 1), uses);
        }
    }

    private static boolean collect(String text, String where, Map<String, String> uses) {
        Matcher mention = MENTION.matcher(text);
        boolean found = false;
        while (mention.find()) {
            uses.putIfAbsent(mention.group(1), where);
            found = true;
        }
        return found;
    }
}
