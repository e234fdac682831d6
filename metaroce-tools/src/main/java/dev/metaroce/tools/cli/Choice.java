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
    private final String unsaid;

    protected Choice(Class<E> type) {
        this(type, "");
    }

    /**
     * @param unsaid end of some names that users need not write
     */
    protected Choice(Class<E> type, String unsaid) {
        constants = type.getEnumConstants();
        this.unsaid = unsaid;
    }

    /** The name as a user writes it. */
    public static String label(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    private String name(E constant) {
        String label = label(constant);
        boolean isShorter = label.endsWith(unsaid);
        return isShorter ? label.substring(0, label.length() - unsaid.length()) : label;
    }

    @Override
    public E convert(String text) {
        for (E constant : constants) {
            if (name(constant).equals(text)) {
                return constant;
            }
        }
        String names = Arrays.stream(constants).map(this::name).collect(Collectors.joining(", "));
        throw new TypeConversionException("'" + text + "' is none of " + names);
    }
}
