package dev.metaroce.tools.perf;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.math.BigDecimal;
import java.util.List;

/**
 * A percentile as the user named it.
 *
 * @param percent above 0 and below 100
 */
record Percentile(BigDecimal percent) {
    /** What a latency test reports when nothing else was asked for. */
    static final List<Percentile> DEFAULT = List.of(of("99"), of("99.9"));

    private static final int DECIMALS_MAX = 6;

    static Percentile of(String text) {
        return new Percentile(new BigDecimal(text).stripTrailingZeros());
    }

    double value() {
        return percent.doubleValue();
    }

    /** The column: "99.9%". */
    String label() {
        return percent.toPlainString() + "%";
    }

    /**
     * The key in a document between prefix and unit: "p50", "p999" for 99.9, "p05" for 5; two
     * digits stand before the point, so that no two percentiles share a key.
     */
    String key() {
        String plain = percent.toPlainString();
        int point = plain.indexOf('.');
        String whole = point < 0 ? plain : plain.substring(0, point);
        return "p" + (whole.length() < 2 ? "0" : "") + plain.replace(".", "");
    }

    /** One item of the list of {@code --percentiles}. */
    static final class Converter implements ITypeConverter<Percentile> {
        @Override
        public Percentile convert(String text) {
            if (text.strip().matches("[0-9]{1,2}(\\.[0-9]{1," + DECIMALS_MAX + "})?")) {
                Percentile percentile = of(text.strip());
                if (percentile.percent.signum() > 0) {
                    return percentile;
                }
            }
            throw new TypeConversionException(
                    "'%s' is not a percentage above 0 and below 100, with at most %d decimals"
                            .formatted(text, DECIMALS_MAX));
        }
    }
}
