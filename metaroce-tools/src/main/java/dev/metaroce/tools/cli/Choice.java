package dev.metaroce.tools.cli;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Converts the lower-case names of an enum's constants. Each option has its own small subclass,
 * because picocli makes converters without arguments.
 */
public abstract class Choice<E extends Enum<E>> implements ITypeConverter<E> {
    private final E[] constants;

    protected Choice(Class<E> type) {
        constants = type.getEnumConstants();
    }

    /** The name as a user writes it. */
    public static String label(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public E convert(String text) {
        for (E constant : constants) {
            if (label(constant).equals(text)) {
                return constant;
            }
        }
        String names =
                Arrays.stream(constants).map(Choice::label).collect(Collectors.joining(", "));
        throw new TypeConversionException("'" + text + "' is none of " + names);
    }
}
