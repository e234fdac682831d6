package dev.metaroce.sim.topology;

import dev.metaroce.sim.ConfigException;

import org.jspecify.annotations.Nullable;

import tools.jackson.core.JacksonException;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A TOML file whose reader can say, for anything wrong in it, the file, the line and the reason.
 */
final class TomlDocument {
    private static final TomlMapper MAPPER = new TomlMapper();

    private final String file;
    private final String text;
    private final JsonNode root;

    /**
     * @throws ConfigException when it is no TOML
     */
    TomlDocument(String file, String text) {
        this.file = file;
        this.text = text;
        try {
            root = MAPPER.readTree(text);
        } catch (JacksonException e) {
            String reason = e.getOriginalMessage().lines().findFirst().orElse("");
            throw new ConfigException(
                    "%s:%d: is no TOML: %s".formatted(file, line(e.getLocation(), reason), reason));
        }
    }

    private int line(@Nullable TokenStreamLocation place, String reason) {
        if (place == null || place.getLineNr() < 1) {
            return 1;
        }
        int line = place.getLineNr();
        if (!reason.equals("Duplicate key")) {
            return line;
        }
        // The parser notices only when it has read the value and all blank lines behind it.
        int read = place.getColumnNr() > 1 ? line : line - 1;
        String before = text.lines().limit(read).collect(Collectors.joining("\n"));
        return new TomlLines(before).latestKey();
    }

    /**
     * @param known all keys that the document may have at its top
     */
    Table root(String... known) {
        return new Table(root, "", known);
    }

    private int line(String path) {
        return new TomlLines(text).of(path);
    }

    private ConfigException error(String path, String reason) {
        return new ConfigException("%s:%d: %s".formatted(file, line(path), reason));
    }

    /** A table and where it is; each value that is read is checked for its type. */
    final class Table {
        private final JsonNode node;
        private final String path;

        private Table(JsonNode node, String path, String... known) {
            this.node = node;
            this.path = path;
            List<String> keys = List.of(known);
            for (Map.Entry<String, JsonNode> entry : node.properties()) {
                if (!keys.contains(entry.getKey())) {
                    throw error(
                            entry.getKey(),
                            "unknown key '%s': known here are %s"
                                    .formatted(entry.getKey(), String.join(", ", keys)));
                }
            }
        }

        int line() {
            return TomlDocument.this.line(path);
        }

        private String path(String key) {
            return path + "/" + key;
        }

        /** What to throw about the table as a whole. */
        ConfigException error(String reason) {
            return TomlDocument.this.error(path, reason);
        }

        /** What to throw about one of its keys. */
        ConfigException error(String key, String reason) {
            return TomlDocument.this.error(path(key), reason);
        }

        boolean has(String key) {
            return node.has(key);
        }

        @Nullable String text(String key) {
            JsonNode value = node.get(key);
            if (value != null && !value.isString()) {
                throw error(key, "%s %s: is no text in quotes".formatted(key, value));
            }
            return value == null ? null : value.stringValue();
        }

        String neededText(String key) {
            String value = text(key);
            if (value == null) {
                throw error("has no " + key);
            }
            return value;
        }

        int whole(String key, int usual, int min, int max) {
            JsonNode value = node.get(key);
            if (value == null) {
                return usual;
            }
            if (!value.isIntegralNumber()
                    || !value.canConvertToInt()
                    || value.intValue() < min
                    || value.intValue() > max) {
                throw error(
                        key, "%s %s: is no whole number in %d..%d".formatted(key, value, min, max));
            }
            return value.intValue();
        }

        /** A table in this one; an empty one when it is absent. */
        Table table(String key, String... known) {
            JsonNode value = node.get(key);
            if (value == null) {
                return new Table(MAPPER.createObjectNode(), path(key), known);
            }
            if (!value.isObject()) {
                throw error(key, "%s: is no table, as [%s]".formatted(key, key));
            }
            return new Table(value, path(key), known);
        }

        /** The tables of a list; none when it is absent. */
        List<Table> tables(String key, String... known) {
            return tables(key, false, known);
        }

        /** As {@link #tables}; text in the list stands for a table that says only its name. */
        List<Table> named(String key, String... known) {
            return tables(key, true, known);
        }

        private List<Table> tables(String key, boolean areNamed, String... known) {
            List<Table> tables = new ArrayList<>();
            JsonNode list = node.get(key);
            if (list != null && !list.isArray()) {
                throw error(key, "%s: is no list".formatted(key));
            }
            for (int i = 0; list != null && i < list.size(); i++) {
                JsonNode item = list.get(i);
                if (areNamed && item.isString()) {
                    item = MAPPER.createObjectNode().set("name", item);
                }
                String itsPath = path(key) + "/" + i;
                if (!item.isObject()) {
                    throw TomlDocument.this.error(itsPath, "%s: is no table".formatted(item));
                }
                tables.add(new Table(item, itsPath, known));
            }
            return tables;
        }
    }
}
