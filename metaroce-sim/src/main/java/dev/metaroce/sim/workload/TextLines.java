package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;

import java.math.BigInteger;
import java.util.List;

/** The lines of a file of words, without comments and blank ones. */
final class TextLines {
    private final String file;
    private final List<String> lines;
    private int number;
    private String line = "";

    TextLines(String file, String text) {
        this.file = file;
        lines = text.lines().toList();
    }

    /** Goes on to the next line that says something; false when there is none. */
    boolean next() {
        while (number < lines.size()) {
            String whole = lines.get(number++);
            int comment = whole.indexOf('#');
            line = (comment < 0 ? whole : whole.substring(0, comment)).strip();
            if (!line.isEmpty()) {
                return true;
            }
        }
        return false;
    }

    String line() {
        return line;
    }

    String[] words() {
        return line.split("\\s+");
    }

    int number() {
        return Math.max(1, number);
    }

    long whole(String what, String word, long min, long max) {
        if (word.matches("[0-9]{1,19}") && new BigInteger(word).bitLength() < Long.SIZE) {
            long value = Long.parseLong(word);
            if (value >= min && value <= max) {
                return value;
            }
        }
        throw error("%s '%s' is no whole number in %d..%d".formatted(what, word, min, max));
    }

    ConfigException error(String reason) {
        return error(number(), reason);
    }

    ConfigException error(int inLine, String reason) {
        return new ConfigException("%s:%d: %s".formatted(file, inLine, reason));
    }
}
