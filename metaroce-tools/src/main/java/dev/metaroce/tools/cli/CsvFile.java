package dev.metaroce.tools.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** A CSV file of an option; opened before the run, so that a wrong name is told in time. */
public final class CsvFile implements AutoCloseable {
    private final String option;
    private final Path path;
    private final PrintWriter out;

    private CsvFile(String option, Path path, PrintWriter out) {
        this.option = option;
        this.path = path;
        this.out = out;
    }

    public static CsvFile open(String option, Path path, String header) {
        try {
            PrintWriter out = new PrintWriter(Files.newBufferedWriter(path));
            out.println(header);
            return new CsvFile(option, path, out);
        } catch (IOException e) {
            throw ToolException.usage(
                    "cannot write %s '%s' (%s): name another file"
                            .formatted(option, path, e.getClass().getSimpleName()));
        }
    }

    /** Adds a line of values. */
    public void line(Object... values) {
        for (int i = 0; i < values.length; i++) {
            out.print(i == 0 ? "" : ",");
            out.print(text(values[i]));
        }
        out.println();
    }

    private static String text(Object value) {
        if (value instanceof Double number) {
            return decimal(number);
        }
        String text = String.valueOf(value);
        boolean needsQuotes = text.chars().anyMatch(c -> c == ',' || c == '"' || c == '\n');
        return needsQuotes ? '"' + text.replace("\"", "\"\"") + '"' : text;
    }

    /** At most six digits behind the point; nothing when there is no number. */
    private static String decimal(double number) {
        if (!Double.isFinite(number)) {
            return "";
        }
        boolean isWhole = number == Math.rint(number) && Math.abs(number) < 1e15;
        return isWhole ? Long.toString((long) number) : String.format(Locale.ROOT, "%.6f", number);
    }

    /** Ends the file; fails when not all of it could be written. */
    @Override
    public void close() {
        out.close();
        if (out.checkError()) {
            throw ToolException.failed(
                    "cannot write %s '%s': is the disk full?".formatted(option, path));
        }
    }
}
