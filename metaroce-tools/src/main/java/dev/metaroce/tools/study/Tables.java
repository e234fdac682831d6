package dev.metaroce.tools.study;

import dev.metaroce.tools.cli.CsvFile;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Output;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The tables of a study: lines for people, CSV and a document, as each row becomes known. */
final class Tables implements AutoCloseable {
    private static final int NAME_WIDTH = 24;

    private final Output output;
    private final @Nullable CsvFile csv;
    private final ObjectNode document;
    private String table = "";
    private ArrayNode rows;
    private boolean hasHeader;

    /** A row: its name and its quantities, in the order of the columns. */
    static final class Row {
        private record Quantity(String key, String title, double value) {}

        private final String name;
        private final List<Quantity> quantities = new ArrayList<>();

        Row(String name) {
            this.name = name;
        }

        /**
         * @param key in documents, with its unit
         * @param title of the column
         */
        Row with(String key, String title, double value) {
            quantities.add(new Quantity(key, title, value));
            return this;
        }

        /** Their median, and the least and the greatest of them beside it. */
        Row with(String key, String title, Spread spread) {
            return with(key, title, spread.median())
                    .with(key + "_min", "least", spread.min())
                    .with(key + "_max", "greatest", spread.max());
        }

        Row with(String key, String title, long count) {
            return with(key, title, (double) count);
        }
    }

    /**
     * @param csv file for all figures; null for none
     * @param document receives an array for each table
     */
    Tables(Output output, @Nullable Path csv, ObjectNode document) {
        this.output = output;
        this.csv = csv == null ? null : CsvFile.open("--csv", csv, "table,row,quantity,value");
        this.document = document;
        rows = Json.COMPACT.createArrayNode();
    }

    /** Begins a table; the row names of one table are unique. */
    void begin(String name, String title) {
        table = name;
        rows = document.putArray(name);
        hasHeader = false;
        say("");
        say(title);
    }

    void add(Row row) {
        StringBuilder header = new StringBuilder(" ").append(padded(""));
        StringBuilder line = new StringBuilder(" ").append(padded(row.name));
        ObjectNode object = rows.addObject();
        object.put("row", row.name);
        for (Row.Quantity quantity : row.quantities) {
            String text = number(quantity.value);
            int width = Math.max(8, quantity.title.length()) + 1;
            header.append(" ".repeat(width - quantity.title.length())).append(quantity.title);
            line.append(" ".repeat(Math.max(1, width - text.length()))).append(text);
            if (Double.isFinite(quantity.value)) {
                object.put(quantity.key, Json.rounded(quantity.value));
            } else {
                object.putNull(quantity.key);
            }
            if (csv != null) {
                csv.line(table, row.name, quantity.key, quantity.value);
            }
        }
        if (!hasHeader) {
            say(header.toString());
            hasHeader = true;
        }
        say(line.toString());
    }

    private void say(String line) {
        if (output.out != null) {
            output.out.line(line);
        }
    }

    private static String padded(String name) {
        return name + " ".repeat(Math.max(1, NAME_WIDTH - name.length()));
    }

    /** Whole, or with four digits or more; nothing was measured: a dash. */
    private static String number(double value) {
        if (!Double.isFinite(value)) {
            return "-";
        }
        boolean isWhole = value == Math.rint(value) && Math.abs(value) < 1e15;
        String format = isWhole || value >= 1000 ? "%,.0f" : value >= 100 ? "%.1f" : "%.3f";
        return String.format(Locale.ROOT, format, value);
    }

    @Override
    public void close() {
        if (csv != null) {
            csv.close();
        }
    }
}
