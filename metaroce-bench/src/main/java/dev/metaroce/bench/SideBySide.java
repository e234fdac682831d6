package dev.metaroce.bench;

import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The end of {@code bench/side-by-side}: makes a table, and a JSON document when a file is named,
 * of the figures that the script collected.
 */
final class SideBySide {
    private SideBySide() {}

    /** What the JSON document holds. */
    private record Document(Map<String, String> conditions, List<Comparison> rows) {}

    /**
     * Arguments: a file of {@code key=value} lines about machine and method, a file of figures as
     * {@link Comparison#read} takes them, and where to write the document, if anywhere.
     */
    public static void main(String[] args) throws IOException {
        Map<String, String> conditions = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            int equals = line.indexOf('=');
            conditions.put(line.substring(0, equals), line.substring(equals + 1));
        }
        List<Comparison> rows = Comparison.read(Files.readAllLines(Path.of(args[1])));
        conditions.forEach((key, value) -> System.out.printf("%-20s %s%n", key, value));
        for (Comparison row : rows) {
            System.out.println();
            row.table().forEach(System.out::println);
        }
        if (args.length > 2) {
            JsonMapper mapper =
                    JsonMapper.builder()
                            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                            .enable(SerializationFeature.INDENT_OUTPUT)
                            .build();
            Files.writeString(
                    Path.of(args[2]), mapper.writeValueAsString(new Document(conditions, rows)));
        }
    }
}
