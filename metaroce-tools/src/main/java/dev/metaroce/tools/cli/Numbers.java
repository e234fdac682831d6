package dev.metaroce.tools.cli;

import dev.metaroce.transport.DeviceLimits;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * Converters that know their range, so that the error names the value and what would be right. Each
 * option has its own small subclass, because picocli makes converters without arguments.
 */
public final class Numbers {
    private static final String SUFFIXES = "kMG";

    private Numbers() {}

    /** A whole number in a range. */
    public abstract static class Whole implements ITypeConverter<Integer> {
        private final int min;
        private final int max;

        protected Whole(int min, int max) {
            this.min = min;
            this.max = max;
        }

        @Override
        public Integer convert(String text) {
            BigInteger value = wholeOrNull(text);
            if (value == null || outside(value, min, max)) {
                throw new TypeConversionException(
                        "'" + text + "' is not a whole number in " + min + ".." + max);
            }
            return value.intValue();
        }
    }

    /** A count of bytes in a range; k, M and G stand for KiB, MiB and GiB. */
    public abstract static class Bytes implements ITypeConverter<Long> {
        private final long min;
        private final long max;

        protected Bytes(long min, long max) {
            this.min = min;
            this.max = max;
        }

        @Override
        public Long convert(String text) {
            String digits = text;
            int shift = 0;
            int suffix = text.isEmpty() ? -1 : suffixOf(text.charAt(text.length() - 1));
            if (suffix >= 0) {
                digits = text.substring(0, text.length() - 1);
                shift = 10 * (suffix + 1);
            }
            BigInteger value = wholeOrNull(digits);
            if (value == null || outside(value.shiftLeft(shift), min, max)) {
                throw new TypeConversionException(
                        "'%s' is not a byte count in %d..%d (k, M, G mean KiB, MiB, GiB)"
                                .formatted(text, min, max));
            }
            return value.shiftLeft(shift).longValue();
        }

        private static int suffixOf(char letter) {
            char lower = Character.toLowerCase(letter);
            return SUFFIXES.toLowerCase(java.util.Locale.ROOT).indexOf(lower);
        }
    }

    /** A decimal number in a range. */
    public abstract static class Decimal implements ITypeConverter<Double> {
        private final String unit;
        private final BigDecimal min;
        private final BigDecimal max;

        protected Decimal(String unit, String min, String max) {
            this.unit = unit;
            this.min = new BigDecimal(min);
            this.max = new BigDecimal(max);
        }

        @Override
        public Double convert(String text) {
            try {
                BigDecimal value = new BigDecimal(text);
                if (value.compareTo(min) >= 0 && value.compareTo(max) <= 0) {
                    return value.doubleValue();
                }
            } catch (NumberFormatException e) {
                // Falls through to the same message as a value out of range.
            }
            throw new TypeConversionException(
                    "'%s' is not a number of %s in %s..%s".formatted(text, unit, min, max));
        }
    }

    /** Seconds from a tenth to a day. */
    public static final class Seconds extends Decimal {
        public Seconds() {
            super("seconds", "0.1", "86400");
        }
    }

    /** A UDP port that can be dialled. */
    public static final class Port extends Whole {
        public Port() {
            super(0, 65_535);
        }
    }

    /** Paths of a lease. */
    public static final class Paths extends Whole {
        public Paths() {
            super(1, DeviceLimits.MAX_PATHS);
        }
    }

    /** Payload bytes per packet. */
    public static final class PayloadMtu implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String text) {
            int value = text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : -1;
            if (value < 256 || value > 65_408 || value % 64 != 0) {
                throw new TypeConversionException(
                        "'" + text + "' is not a multiple of 64 in 256..65408");
            }
            return value;
        }
    }

    /** A percentage: "1", "1%" and "0.5 %" are accepted; the value is a share in 0..1. */
    public static final class Percent implements ITypeConverter<Double> {
        @Override
        public Double convert(String text) {
            String digits = text.strip();
            if (digits.endsWith("%")) {
                digits = digits.substring(0, digits.length() - 1).strip();
            }
            try {
                double value = new BigDecimal(digits).doubleValue();
                if (value >= 0 && value <= 100) {
                    return value / 100;
                }
            } catch (NumberFormatException e) {
                // Falls through to the same message as a value out of range.
            }
            throw new TypeConversionException("'" + text + "' is not a percentage in 0..100");
        }
    }

    private static boolean outside(BigInteger value, long min, long max) {
        return value.compareTo(BigInteger.valueOf(min)) < 0
                || value.compareTo(BigInteger.valueOf(max)) > 0;
    }

    @org.jspecify.annotations.Nullable
    private static BigInteger wholeOrNull(String text) {
        return text.matches("[+-]?[0-9]{1,30}") ? new BigInteger(text) : null;
    }
}
