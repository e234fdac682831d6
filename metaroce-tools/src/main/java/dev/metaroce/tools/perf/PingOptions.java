package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Numbers.Bytes;
import dev.metaroce.tools.cli.Numbers.Decimal;
import dev.metaroce.tools.cli.Numbers.Seconds;
import dev.metaroce.tools.cli.Numbers.Whole;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.util.List;

/** Options of {@code perf ping}; names and defaults as ping's. */
final class PingOptions extends EndpointOptions {
    private static final List<Percentile> PERCENTILES =
            List.of(Percentile.of("50"), Percentile.of("99"));

    @Parameters(
            paramLabel = "HOST[:PORT]",
            description = "Server to ping: a name, an IPv4 or an IPv6 address.")
    String host = "";

    @Option(
            names = {"-c", "--count"},
            paramLabel = "N",
            converter = Count.class,
            description = "End after so many pings; else at the interrupt (Ctrl-C).")
    @Nullable Integer count;

    @Option(
            names = {"-i", "--interval"},
            paramLabel = "SECONDS",
            converter = Interval.class,
            defaultValue = "1",
            description = "From one ping to the next, 0.001..3600 (1).")
    double intervalSeconds;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            converter = Size.class,
            defaultValue = "64",
            description = "Message size, 1..1M; k and M mean KiB and MiB (64).")
    long messageBytes;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            converter = Seconds.class,
            defaultValue = "2",
            description = "A ping without an answer for so long is lost (2).")
    double timeoutSeconds;

    @Option(
            names = "--percentiles",
            paramLabel = "P",
            split = ",",
            converter = Percentile.Converter.class,
            description = "Which percentiles to show at the end, as in 50,90,99 (50,99).")
    @Nullable List<Percentile> percentiles;

    List<Percentile> percentiles() {
        return percentiles == null ? PERCENTILES : percentiles;
    }

    static final class Count extends Whole {
        Count() {
            super(1, 1_000_000_000);
        }
    }

    static final class Interval extends Decimal {
        Interval() {
            super("seconds", "0.001", "3600");
        }
    }

    static final class Size extends Bytes {
        Size() {
            super(1, 1 << 20);
        }
    }
}
