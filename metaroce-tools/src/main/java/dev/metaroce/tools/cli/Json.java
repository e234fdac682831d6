package dev.metaroce.tools.cli;

import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.ser.std.StdSerializer;

import java.math.BigDecimal;
import java.math.MathContext;

/**
 * The one JSON dialect of all commands: records become objects with snake_case keys in the order of
 * their components, and a number that is not finite becomes null.
 */
public final class Json {
    private static final MathContext DIGITS = new MathContext(7);

    /** Compact form, one line. */
    public static final JsonMapper COMPACT = builder().build();

    /** Indented form, for standard output. */
    public static final JsonMapper PRETTY =
            builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private Json() {}

    private static JsonMapper.Builder builder() {
        SimpleModule numbers = new SimpleModule();
        numbers.addSerializer(Double.class, new FiniteOrNull());
        numbers.addSerializer(double.class, new FiniteOrNull());
        return JsonMapper.builder()
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .addModule(numbers);
    }

    /** A record as a tree, to be merged into a document. */
    public static ObjectNode tree(Object record) {
        return (ObjectNode) COMPACT.valueToTree(record);
    }

    public static ObjectNode object() {
        return COMPACT.createObjectNode();
    }

    /** Indented text of a document, without a line end. */
    public static String pretty(Object document) {
        return PRETTY.writeValueAsString(document);
    }

    /** Seven significant digits: more would be noise, fewer would not add up. */
    public static double rounded(double value) {
        return new BigDecimal(value).round(DIGITS).doubleValue();
    }

    private static final class FiniteOrNull extends StdSerializer<Double> {
        FiniteOrNull() {
            super(Double.class);
        }

        @Override
        public void serialize(Double value, JsonGenerator out, SerializationContext context)
                throws JacksonException {
            if (Double.isFinite(value)) {
                out.writeNumber(rounded(value));
            } else {
                out.writeNull();
            }
        }
    }
}
