package dev.metaroce.tools.relay;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.FaultRelay;
import dev.metaroce.net.Faults;
import dev.metaroce.net.NetSetupException;
import dev.metaroce.net.RelayOptions;
import dev.metaroce.net.RelayStats;
import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

import tools.jackson.databind.node.ObjectNode;

import java.io.PrintWriter;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** {@code metaroce relay}: a bad network between a client and a server. */
@Command(
        name = "relay",
        mixinStandardHelpOptions = true,
        header = "Be a bad network between a client and a server.",
        description = {
            "Forwards UDP to a target and drops, duplicates, reorders, delays and corrupts packets",
            "on the way, as a seed says. Point the client at the relay instead of the server."
        })
public final class RelayCommand implements Callable<Integer>, JsonReporter {
    private static final long STATUS_SECONDS = 5;

    /** Which packets meet the faults. */
    enum Direction {
        both,
        there,
        back
    }

    @Spec private CommandSpec spec;

    @Option(
            names = "--listen",
            paramLabel = "[HOST:]PORT",
            required = true,
            description = "Where clients send to; port 0 takes a free one. Host: 127.0.0.1.")
    private String listen;

    @Option(
            names = "--to",
            paramLabel = "HOST:PORT",
            required = true,
            description = "Where packets go.")
    private String target;

    @Option(
            names = "--direction",
            paramLabel = "both|there|back",
            defaultValue = "both",
            description = "Packets that meet the faults: to the target, back, or both (both).")
    private Direction direction;

    @Option(
            names = "--drop",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            defaultValue = "0",
            description = "Packets dropped at random.")
    private double drop;

    @Option(
            names = "--drop-every",
            paramLabel = "N",
            converter = Count.class,
            defaultValue = "0",
            description = "Drop packets N, 2N, 3N, ...")
    private int dropEvery;

    @Option(
            names = "--burst",
            paramLabel = "LENGTH/EVERY",
            converter = BurstOption.class,
            description = "Drop LENGTH packets in a row at every EVERY-th packet.")
    private @Nullable Burst burst;

    @Option(
            names = "--dup",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            defaultValue = "0",
            description = "Packets sent twice.")
    private double duplicate;

    @Option(
            names = "--reorder",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            defaultValue = "0",
            description = "Packets held back until others passed.")
    private double reorder;

    @Option(
            names = "--reorder-distance",
            paramLabel = "N",
            converter = Distance.class,
            defaultValue = "3",
            description = "How many others pass a packet that is held back (3).")
    private int reorderDistance;

    @Option(
            names = "--delay",
            paramLabel = "TIME",
            converter = Time.class,
            defaultValue = "0",
            description = "Added to every packet: 5ms, 200us, 1s.")
    private long delayNs;

    @Option(
            names = "--jitter",
            paramLabel = "TIME",
            converter = Time.class,
            defaultValue = "0",
            description = "Random time up to this added as well; may reorder.")
    private long jitterNs;

    @Option(
            names = "--corrupt",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            defaultValue = "0",
            description = "Packets with one bit flipped.")
    private double corrupt;

    @Option(
            names = "--max-datagram",
            paramLabel = "BYTES",
            converter = Datagram.class,
            defaultValue = "0",
            description = "Drop longer datagrams silently, as a link with a small MTU does.")
    private int maxDatagram;

    @Option(
            names = "--black-hole",
            paramLabel = "CLIENT",
            converter = ClientIndex.class,
            description =
                    "Drop everything of the n-th client socket, counted from 0 by first "
                            + "packet; may be given several times.")
    private int @Nullable [] blackHoles;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of all random decisions (1).")
    private long seed;

    @Option(
            names = {"-D", "--duration"},
            paramLabel = "SECONDS",
            converter = Numbers.Seconds.class,
            description = "End after so long; else at the interrupt (Ctrl-C).")
    private @Nullable Double durationSeconds;

    @Option(
            names = "--json",
            description = "The counters at the end as one JSON document; nothing else on stdout.")
    private boolean json;

    @Option(names = "--end-with-parent", hidden = true)
    private boolean endWithParent;

    @Override
    public boolean json() {
        return json;
    }

    @Override
    public ObjectNode document() {
        return Json.object().put("command", spec.qualifiedName());
    }

    @Override
    public Integer call() {
        if (endWithParent) {
            ChildJvm.endWithParent();
        }
        try (FaultRelay relay = start()) {
            if (blackHoles != null) {
                for (int client : blackHoles) {
                    relay.blackHole(client, true);
                }
            }
            PrintWriter words = json ? spec.commandLine().getErr() : spec.commandLine().getOut();
            words.println(
                    spec.qualifiedName()
                            + ": listening on UDP "
                            + Endpoint.text(relay.localAddress())
                            + ", forwarding to "
                            + target
                            + " (seed "
                            + seed
                            + ")");
            words.flush();
            await(relay);
        }
        return ExitCode.OK;
    }

    private FaultRelay start() {
        Faults faults =
                Faults.builder()
                        .dropRate(drop)
                        .dropEvery(dropEvery)
                        .duplicate(duplicate, 1)
                        .reorderRate(reorder, reorderDistance)
                        .delay(delayNs, jitterNs)
                        .corruptRate(corrupt)
                        .datagramBytesMax(maxDatagram)
                        .burst(burst == null ? 0 : burst.every, burst == null ? 1 : burst.length, 0)
                        .build();
        Faults there = direction == Direction.back ? Faults.NONE : faults;
        Faults back = direction == Direction.there ? Faults.NONE : faults;
        InetSocketAddress to =
                Endpoint.resolve(target, Addresses.DEFAULT_PORT, Endpoint.Family.ANY).getFirst();
        try {
            return FaultRelay.start(
                    RelayOptions.between(listenAddress(), to).withFaults(seed, there, back));
        } catch (NetSetupException e) {
            throw ToolException.environment(String.valueOf(e.getMessage()));
        } catch (IllegalArgumentException e) {
            throw ToolException.usage(String.valueOf(e.getMessage()));
        }
    }

    /** A port alone stands for the loopback address: a bad network is rarely meant for others. */
    private InetSocketAddress listenAddress() {
        String text = listen.matches("[0-9]+") ? "127.0.0.1:" + listen : listen;
        if (text.endsWith(":0")) {
            String host = text.substring(0, text.length() - 2);
            InetSocketAddress any = Endpoint.resolve(host, 1, Endpoint.Family.ANY).getFirst();
            return new InetSocketAddress(any.getAddress(), 0);
        }
        return Endpoint.resolve(text, Addresses.DEFAULT_PORT, Endpoint.Family.ANY).getFirst();
    }

    private void await(FaultRelay relay) {
        RelayStats told = null;
        CountDownLatch interrupted = new CountDownLatch(1);
        // The hook prints, not the main thread: after the interrupt the JVM waits only for hooks.
        Thread atInterrupt =
                new Thread(
                        () -> {
                            printEnd(relay.stats());
                            interrupted.countDown();
                        });
        Runtime.getRuntime().addShutdownHook(atInterrupt);
        long leftNs = durationSeconds == null ? Long.MAX_VALUE : (long) (durationSeconds * 1e9);
        long endNs = System.nanoTime() + Math.min(leftNs, Long.MAX_VALUE / 4);
        try {
            long waitNs = Math.min(leftNs, TimeUnit.SECONDS.toNanos(STATUS_SECONDS));
            while (!interrupted.await(waitNs, TimeUnit.NANOSECONDS)) {
                long nowNs = System.nanoTime();
                if (nowNs - endNs >= 0) {
                    break;
                }
                RelayStats stats = relay.stats();
                if (!stats.equals(told)) {
                    told = stats;
                    printStatus(stats);
                }
                waitNs = Math.min(endNs - nowNs, TimeUnit.SECONDS.toNanos(STATUS_SECONDS));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        try {
            Runtime.getRuntime().removeShutdownHook(atInterrupt);
            printEnd(relay.stats());
        } catch (IllegalStateException e) {
            // Shutting down already: the hook prints.
        }
    }

    private void printStatus(RelayStats stats) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(
                "there: "
                        + brief(stats.toTarget())
                        + " | back: "
                        + brief(stats.toClient())
                        + " | clients "
                        + stats.clients());
        err.flush();
    }

    private static String brief(RelayStats.Direction d) {
        return Terminal.count(d.received()) + " in, " + Terminal.count(d.dropped()) + " dropped";
    }

    private void printEnd(RelayStats stats) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode document = document();
            document.putNull("error");
            document.put("seed", seed);
            document.setAll(Json.tree(stats));
            out.println(Json.pretty(document));
        } else {
            out.println();
            out.printf("  %-22s %14s %14s%n", "packets", "there", "back");
            RelayStats.Direction there = stats.toTarget();
            RelayStats.Direction back = stats.toClient();
            line(out, "received", there.received(), back.received());
            line(out, "forwarded", there.forwarded(), back.forwarded());
            line(out, "dropped", there.dropped(), back.dropped());
            line(out, "duplicated", there.duplicated(), back.duplicated());
            line(out, "reordered", there.reordered(), back.reordered());
            line(out, "corrupted", there.corrupted(), back.corrupted());
            line(out, "black-holed", there.blackHoled(), back.blackHoled());
            line(out, "overflowed", there.overflowed(), back.overflowed());
            line(out, "still held", there.pending(), back.pending());
            out.printf(
                    "  %d clients, %d forgotten, %d packets of strangers%n",
                    stats.clients(), stats.evicted(), stats.strangers());
        }
        out.flush();
    }

    private static void line(PrintWriter out, String label, long there, long back) {
        out.printf("  %-22s %14s %14s%n", label, Terminal.count(there), Terminal.count(back));
    }

    /** Length and distance of bursts. */
    record Burst(int length, int every) {}

    static final class BurstOption implements ITypeConverter<Burst> {
        @Override
        public Burst convert(String text) {
            if (text.matches("[0-9]{1,8}/[0-9]{1,8}")) {
                int slash = text.indexOf('/');
                int length = Integer.parseInt(text.substring(0, slash));
                int every = Integer.parseInt(text.substring(slash + 1));
                if (length >= 1 && every > length) {
                    return new Burst(length, every);
                }
            }
            throw new TypeConversionException(
                    "'" + text + "' is not LENGTH/EVERY with 1 <= LENGTH < EVERY, such as 20/1000");
        }
    }

    static final class Time implements ITypeConverter<Long> {
        private static final BigDecimal LONGEST_NS = new BigDecimal("100e9");

        @Override
        public Long convert(String text) {
            String[] units = {"ns", "us", "ms", "s"};
            for (int i = 0; i < units.length; i++) {
                String number = text.endsWith(units[i]) ? withoutEnd(text, units[i]) : "";
                if (number.matches("[0-9]+([.][0-9]+)?")) {
                    BigDecimal ns = new BigDecimal(number).scaleByPowerOfTen(3 * i);
                    if (ns.compareTo(LONGEST_NS) <= 0) {
                        return ns.longValue();
                    }
                }
            }
            if (text.equals("0")) {
                return 0L;
            }
            throw new TypeConversionException(
                    "'" + text + "' is not a time of at most 100 s with its unit, such as 5ms");
        }

        private static String withoutEnd(String text, String end) {
            return text.substring(0, text.length() - end.length());
        }
    }

    static final class Count extends Numbers.Whole {
        Count() {
            super(0, Integer.MAX_VALUE);
        }
    }

    static final class Distance extends Numbers.Whole {
        Distance() {
            super(1, 10_000);
        }
    }

    static final class Datagram extends Numbers.Whole {
        Datagram() {
            super(0, 65_535);
        }
    }

    static final class ClientIndex extends Numbers.Whole {
        ClientIndex() {
            super(0, 4095);
        }
    }
}
