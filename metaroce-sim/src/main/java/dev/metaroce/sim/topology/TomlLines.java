package dev.metaroce.sim.topology;

import java.util.HashMap;
import java.util.Map;

/**
 * The line of each key and value of a TOML document, which the parser does not keep. Made only for
 * an error message, from a document or the beginning of one that the parser accepted; so it takes
 * the syntax for granted.
 */
final class TomlLines {
    private final String text;
    private final Map<String, Integer> lines = new HashMap<>();

    /** By path of an array of tables: how many of its tables began so far. */
    private final Map<String, Integer> tables = new HashMap<>();

    private int at;
    private int line = 1;
    private int latestKeyLine = 1;

    TomlLines(String text) {
        this.text = text;
        String table = "";
        for (skipBlank(); at < text.length(); skipBlank()) {
            if (peek() == '[') {
                table = header();
                lines.putIfAbsent(table, line);
            } else {
                keyAndValue(table);
            }
        }
    }

    /**
     * The line, from 1, of what a path such as {@code /links/3/rate} leads to, or of the nearest
     * table or list around it.
     */
    int of(String path) {
        Integer found = lines.get(path);
        if (found != null) {
            return found;
        }
        return path.isEmpty() ? 1 : of(path.substring(0, path.lastIndexOf('/')));
    }

    /** The line of the last key in the document. */
    int latestKey() {
        return latestKeyLine;
    }

    private String header() {
        boolean isArray = text.startsWith("[[", at);
        at += isArray ? 2 : 1;
        StringBuilder path = new StringBuilder();
        boolean hasMore;
        do {
            path.append('/').append(keyPart());
            hasMore = peek() == '.';
            at++;
            if (!hasMore && isArray) {
                tables.merge(path.toString(), 1, Integer::sum);
                at++;
            }
            Integer begun = tables.get(path.toString());
            if (begun != null) {
                path.append('/').append(begun - 1);
            }
        } while (hasMore);
        return path.toString();
    }

    private void keyAndValue(String table) {
        StringBuilder path = new StringBuilder(table);
        boolean hasMore;
        do {
            path.append('/').append(keyPart());
            lines.putIfAbsent(path.toString(), line);
            latestKeyLine = line;
            hasMore = peek() == '.';
            at++;
        } while (hasMore);
        value(path.toString());
    }

    /** Reads one part of a key and goes to the dot, bracket or equals sign behind it. */
    private String keyPart() {
        skipSpaces();
        int start = at;
        String part;
        if (peek() == '"' || peek() == '\'') {
            skipString();
            part = text.substring(start + 1, at - 1);
        } else {
            skipUntil(" \t.=]");
            part = text.substring(start, at);
        }
        skipSpaces();
        return part;
    }

    private void value(String path) {
        skipSpaces();
        switch (peek()) {
            case '"', '\'' -> skipString();
            case '[' -> {
                at++;
                int index = 0;
                for (skipSeparators(); !isAt(']'); skipSeparators()) {
                    String item = path + "/" + index++;
                    lines.put(item, line);
                    value(item);
                }
                at++;
            }
            case '{' -> {
                at++;
                for (skipSeparators(); !isAt('}'); skipSeparators()) {
                    keyAndValue(path);
                }
                at++;
            }
            default -> skipUntil(",]}# \t\r\n");
        }
    }

    private void skipString() {
        char quote = text.charAt(at);
        String ends = String.valueOf(quote).repeat(3);
        boolean isLong = text.startsWith(ends, at);
        String end = isLong ? ends : ends.substring(2);
        at += end.length();
        while (at < text.length() && !text.startsWith(end, at)) {
            at += quote == '"' && peek() == '\\' ? 1 : 0;
            step();
        }
        at += end.length();
        while (isLong && peek() == quote) {
            at++; // a long string may end in quotes of its own
        }
    }

    private void skipSeparators() {
        skipBlank();
        while (peek() == ',') {
            at++;
            skipBlank();
        }
    }

    private void skipBlank() {
        while (at < text.length() && " \t\r\n#".indexOf(text.charAt(at)) >= 0) {
            if (peek() == '#') {
                skipUntil("\n");
            } else {
                step();
            }
        }
    }

    private void skipSpaces() {
        while (peek() == ' ' || peek() == '\t') {
            at++;
        }
    }

    private void skipUntil(String ends) {
        while (at < text.length() && ends.indexOf(text.charAt(at)) < 0) {
            at++;
        }
    }

    private void step() {
        line += peek() == '\n' ? 1 : 0;
        at++;
    }

    private boolean isAt(char end) {
        return at >= text.length() || text.charAt(at) == end;
    }

    private char peek() {
        return at < text.length() ? text.charAt(at) : '\n';
    }
}
