package dev.metaroce.sim;

import java.math.BigDecimal;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rates, times and sizes as people write them, in files and on the command line alike; upper and
 * lower case are the same. Values are exact: what is no whole number of the smallest unit is
 * refused, and so is what is out of range.
 */
public final class Quantities {
    public static final long RATE_MAX_BITS_PER_SECOND = 1_600_000_000_000L;
    public static final long DELAY_MAX_PS = 1_000_000_000_000_000L;

    /** 1 TiB. */
    public static final long BYTES_MAX = 1L << 40;

    private static final Pattern NUMBER_AND_UNIT =
            Pattern.compile("([0-9]{1,30}(?:\\.[0-9]{1,30})?)([a-z/]*)");

    private static final Map<String, BigDecimal> RATE_UNITS = new HashMap<>();
    private static final Map<String, BigDecimal> TIME_UNITS = new HashMap<>();
    private static final Map<String, BigDecimal> SIZE_UNITS = new HashMap<>();

    static {
        String[] times = {"ps", "ns", "us", "ms", "s"};
        String[] thousands = {"", "k", "m", "g", "t"};
        for (int i = 0; i < times.length; i++) {
            BigDecimal factor = BigDecimal.ONE.movePointRight(3 * i);
            TIME_UNITS.put(times[i], factor);
            RATE_UNITS.put(thousands[i], factor);
            RATE_UNITS.put(thousands[i] + "bps", factor);
            RATE_UNITS.put(thousands[i] + "b/s", factor);
            if (i < 4) {
                BigDecimal binary = BigDecimal.valueOf(1L << (10 * i));
                SIZE_UNITS.put(thousands[i], binary);
                SIZE_UNITS.put(thousands[i] + (i == 0 ? "b" : "ib"), binary);
            }
        }
    }

    private Quantities() {}

    /**
     * A rate such as {@code 100G}, {@code 400Gbps}, {@code 1.6T} or {@code 1000}; k, M, G and T are
     * powers of 1000.
     *
     * @throws ConfigException unless 1 b/s..1.6 Tb/s
     */
    public static long bitsPerSecond(String text) {
        return parse(
                text,
                RATE_UNITS,
                1,
                RATE_MAX_BITS_PER_SECOND,
                "a rate in 1 b/s..1.6 Tb/s (such as 100G or 400Gbps)");
    }

    /**
     * A delay such as {@code 1us}, {@code 0.5ns} or {@code 10s}.
     *
     * @throws ConfigException unless 0..1000 s and whole picoseconds
     */
    public static long delayPs(String text) {
        return parse(text, TIME_UNITS, 0, DELAY_MAX_PS, "a delay in 0ns..1000s (such as 1us)");
    }

    /**
     * A size such as {@code 64KiB}, {@code 64k} or {@code 2000000}; k, M and G mean KiB, MiB and
     * GiB, as everywhere on the command line.
     *
     * @throws ConfigException unless 0..1 TiB
     */
    public static long bytes(String text) {
        return parse(
                text,
                SIZE_UNITS,
                0,
                BYTES_MAX,
                "a byte count in 0..1024G (k, M, G mean KiB, MiB, GiB)");
    }

    private static long parse(
            String text, Map<String, BigDecimal> units, long min, long max, String what) {
        Matcher parts = NUMBER_AND_UNIT.matcher(text.toLowerCase(Locale.ROOT));
        BigDecimal factor = parts.matches() ? units.get(parts.group(2)) : null;
        if (factor != null) {
            BigDecimal value = new BigDecimal(parts.group(1)).multiply(factor);
            boolean inRange =
                    value.compareTo(BigDecimal.valueOf(min)) >= 0
                            && value.compareTo(BigDecimal.valueOf(max)) <= 0;
            if (inRange && value.stripTrailingZeros().scale() <= 0) {
                return value.longValueExact();
            }
        }
        throw new ConfigException("'%s' is not %s".formatted(text, what));
    }
}
