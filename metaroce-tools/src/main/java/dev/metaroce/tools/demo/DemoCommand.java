package dev.metaroce.tools.demo;

import dev.metaroce.event.CounterId;
import dev.metaroce.net.FaultRelay;
import dev.metaroce.net.RelayStats;
import dev.metaroce.tools.cli.Digest;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Progress;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.LossyLink;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Function;

/** {@code metaroce demo}: a real file, a second process, a lossy network, both profiles. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        header = "Send a file through a lossy network, with both profiles, and compare.",
        description = {
            "Sends a file into the memory of a second process, through a relay that loses packets;",
            "first with profile S (one path, Go-Back-N), then with profile M (many paths,",
            "selective acknowledgement). Shows the life of the context id, compares hashes."
        })
public final class DemoCommand implements Callable<Integer>, JsonReporter {
    private static final int LABEL_WIDTH = 24;
    private static final int CELL_WIDTH = 22;

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "FILE",
            description = "File to send (the class library of the running Java, over 100 MB).")
    private @Nullable Path file;

    @Option(
            names = "--loss",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            defaultValue = "1%",
            description = "Packets the relay drops, in each direction, 0..100 (1%%).")
    private double loss;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = SizeCap.class,
            description = "Send no more than so many bytes of the file; k, M, G are accepted.")
    private @Nullable Long sizeCap;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of the relay's decisions (1).")
    private long seed;

    @Option(names = "--json", description = "One JSON document on standard output, nothing else.")
    private boolean json;

    private final ObjectNode document = Json.object();

    static final class SizeCap extends Numbers.Bytes {
        SizeCap() {
            super(1, 1L << 40);
        }
    }

    @Override
    public boolean json() {
        return json;
    }

    @Override
    public ObjectNode document() {
        return document;
    }

    @Override
    public Integer call() {
        document.put("command", spec.qualifiedName());
        document.putNull("error");
        Path path = file == null ? defaultFile() : file;
        Terminal out = json ? null : Terminal.of(spec.commandLine().getOut());
        try (Arena arena = Arena.ofShared()) {
            MemorySegment data = map(path, arena);
            String hash = Digest.sha256(data);
            introduce(out, path, data.byteSize(), hash);
            List<DemoRun> runs = new ArrayList<>();
            for (Profile profile : Profile.values()) {
                runs.add(run(out, profile, data, hash));
            }
            if (out != null) {
                table(out, runs);
            }
            conclude(runs, hash);
        }
        if (json) {
            spec.commandLine().getOut().println(Json.pretty(document));
        }
        return ExitCode.OK;
    }

    private static Path defaultFile() {
        return Path.of(System.getProperty("java.home"), "lib", "modules");
    }

    private MemorySegment map(Path path, Arena arena) {
        if (!Files.exists(path)) {
            throw ToolException.usage("file '" + path + "' does not exist: name another one");
        }
        if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
            throw ToolException.usage(
                    "'" + path + "' is not a file that can be read: name another one");
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long bytes = sizeCap == null ? channel.size() : Math.min(sizeCap, channel.size());
            if (bytes == 0) {
                throw ToolException.usage("file '" + path + "' is empty: name another one");
            }
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes, arena);
        } catch (IOException e) {
            throw ToolException.usage("cannot read '" + path + "': " + e.getMessage());
        }
    }

    private void introduce(@Nullable Terminal out, Path path, long bytes, String hash) {
        document.put("file", path.toString());
        document.put("file_bytes", bytes);
        document.put("loss_percent", loss * 100);
        document.put("seed", seed);
        document.put("sha256", hash);
        document.put("java_version", System.getProperty("java.version"));
        if (out != null) {
            out.line("%s %s of %s", out.bold("MetaRoCE demo:"), Terminal.bytes(bytes), path);
            out.line(
                    "into the memory of a second process; a relay between them drops %s of all"
                            + " packets, both ways",
                    percent(loss * 100));
        }
    }

    private DemoRun run(@Nullable Terminal out, Profile profile, MemorySegment data, String hash) {
        String what =
                profile == Profile.S
                        ? "profile S: one path, Go-Back-N"
                        : "profile M: many paths, selective acknowledgement";
        if (out != null) {
            out.line("");
            out.line(out.bold(what));
        }
        LifeLine lifeLine = new LifeLine(out, out != null && Progress.hasBar());
        try (ReceiverProcess receiver = ReceiverProcess.start(profile, data.byteSize());
                FaultRelay relay = LossyLink.open(receiver.port(), loss, seed);
                DemoSender sender = new DemoSender(profile, lifeLine, receiver)) {
            receiver.follow(lifeLine);
            DemoSender.Outcome outcome;
            String task = "profile " + profile;
            try (Progress progress =
                    Progress.ofBytes(task, data.byteSize(), spec.commandLine().getErr())) {
                outcome = sender.send(relay.localAddress(), data, progress);
            }
            lifeLine.showAll();
            return result(profile, outcome, relay.stats(), data.byteSize(), hash);
        }
    }

    private static DemoRun result(
            Profile profile,
            DemoSender.Outcome outcome,
            RelayStats relay,
            long bytes,
            String hash) {
        long first = outcome.counters().get(CounterId.DATA_SENT);
        long again = outcome.counters().get(CounterId.DATA_RESENT);
        DemoMessage answer = outcome.answer();
        return new DemoRun(
                profile.name(),
                outcome.elapsedNs() / 1e9,
                8.0 * bytes / outcome.elapsedNs(),
                outcome.payloadMtu(),
                outcome.paths(),
                first,
                again,
                100.0 * again / Math.max(1, first + again),
                relay.toTarget().dropped(),
                relay.toClient().dropped(),
                answer.contexts(),
                answer.contextsPeak(),
                RdmaDevice.contextBytes(profile, outcome.paths()),
                answer.contextTableBytes(),
                answer.sha256(),
                hash.equals(answer.sha256()),
                outcome.counters().nonZero(),
                answer.counters());
    }

    // ---- output ----

    private static void table(Terminal out, List<DemoRun> runs) {
        out.line("");
        row(out, "", runs, run -> "profile " + run.profile(), Terminal::bold);
        row(out, "goodput", runs, run -> decimal(run.goodputGbps()) + " Gb/s", Terminal::bold);
        plain(out, "time", runs, run -> decimal(run.elapsedS()) + " s");
        plain(
                out,
                "paths x payload",
                runs,
                run -> run.paths() + " x " + Terminal.count(run.payloadMtu()) + " B");
        plain(out, "data packets", runs, run -> Terminal.count(run.dataPackets()));
        plain(
                out,
                "sent again",
                runs,
                run ->
                        Terminal.count(run.retransmittedPackets())
                                + " ("
                                + percent(run.retransmittedPercent())
                                + ")");
        plain(
                out,
                "dropped there + back",
                runs,
                run ->
                        Terminal.count(run.relayDroppedToReceiver())
                                + " + "
                                + Terminal.count(run.relayDroppedToSender()));
        plain(
                out,
                "contexts used",
                runs,
                run ->
                        "%d of %d, %d B"
                                .formatted(run.contextsPeak(), run.contexts(), run.contextBytes()));
        row(
                out,
                "SHA-256",
                runs,
                run -> run.sha256Equal() ? "equal" : "DIFFERENT",
                (terminal, cell) ->
                        cell.contains("DIFF") ? terminal.red(cell) : terminal.green(cell));
    }

    private interface Paint {
        String apply(Terminal out, String cell);
    }

    private static void plain(
            Terminal out, String label, List<DemoRun> runs, Function<DemoRun, String> cell) {
        row(out, label, runs, cell, (terminal, text) -> text);
    }

    private static void row(
            Terminal out,
            String label,
            List<DemoRun> runs,
            Function<DemoRun, String> cell,
            Paint paint) {
        StringBuilder line = new StringBuilder("  ").append(padded(label, LABEL_WIDTH));
        for (int i = 0; i < runs.size(); i++) {
            String text = cell.apply(runs.get(i));
            // Padding after painting, so that colour codes do not count as width.
            line.append(paint.apply(out, text));
            if (i < runs.size() - 1) {
                line.append(" ".repeat(Math.max(1, CELL_WIDTH - text.length())));
            }
        }
        out.line(line.toString());
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(1, width - text.length()));
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, value == Math.rint(value) ? "%.0f %%" : "%.2f %%", value);
    }

    private void conclude(List<DemoRun> runs, String hash) {
        ArrayNode array = document.putArray("runs");
        for (DemoRun run : runs) {
            array.add(Json.tree(run));
        }
        for (DemoRun run : runs) {
            if (!run.sha256Equal()) {
                throw ToolException.failed(
                        "profile %s: the receiver's SHA-256 %s is not the file's %s"
                                .formatted(run.profile(), run.sha256(), hash));
            }
        }
    }
}
