package dev.metaroce.tools.link;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.IdleStrategy;
import dev.metaroce.net.SocketKind;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers.Bytes;
import dev.metaroce.tools.cli.Numbers.Whole;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** Options on sockets, the same for every command that opens a device. */
public final class SocketOptions {
    @Option(
            names = "--sockets",
            paramLabel = "auto|linux|nio",
            converter = Kind.class,
            defaultValue = "auto",
            description =
                    "Means of using sockets (auto: linux where possible, else nio, any platform).")
    private SocketKind kind = SocketKind.AUTO;

    @Option(
            names = "--idle",
            paramLabel = "spin|yield|park",
            converter = Idle.class,
            description =
                    "What a device with nothing to do does: look again, let others run, or sleep"
                            + " (park; latency tests yield).")
    private @Nullable IdleStrategy idle;

    @Option(names = "--no-gso", description = "No UDP segmentation offload.")
    private boolean noGso;

    @Option(names = "--no-gro", description = "No UDP receive offload.")
    private boolean noGro;

    @Option(names = "--no-ecn", description = "Neither set nor read congestion marks.")
    private boolean noEcn;

    @Option(
            names = "--dscp",
            paramLabel = "N",
            converter = Dscp.class,
            defaultValue = "0",
            description = "Differentiated services code point of what is sent, 0..63 (0).")
    private int dscp;

    @Option(
            names = "--socket-buffer",
            paramLabel = "BYTES",
            converter = BufferBytes.class,
            description = "Size asked for each socket buffer, 4096..1073741824 (4 MiB).")
    private @Nullable Long bufferBytes;

    @Option(
            names = "--unsafe-no-crc",
            description =
                    "Packets carry no checksum, AGAINST THE SPECIFICATION: to measure its cost,"
                            + " both ends alike.")
    private boolean noCrc;

    static final class Kind extends Choice<SocketKind> {
        Kind() {
            super(SocketKind.class);
        }
    }

    static final class Idle extends Choice<IdleStrategy> {
        Idle() {
            super(IdleStrategy.class);
        }
    }

    /** 0..63. */
    static final class Dscp extends Whole {
        Dscp() {
            super(0, 63);
        }
    }

    /** 4 KiB to 1 GiB. */
    static final class BufferBytes extends Bytes {
        BufferBytes() {
            super(4096, 1 << 30);
        }
    }

    /** True when packets carry no checksum: whoever reports figures has to say so. */
    public boolean isWithoutCrc() {
        return noCrc;
    }

    /** What an idle device does, when nothing was asked for. */
    public void defaultIdle(IdleStrategy value) {
        if (idle == null) {
            idle = value;
        }
    }

    /** Puts the options into those of a device. */
    public void apply(DeviceOptions.Builder device) {
        device.sockets(kind).gso(!noGso).gro(!noGro).ecn(!noEcn).dscp(dscp);
        if (idle != null) {
            device.idle(idle);
        }
        if (bufferBytes != null) {
            device.socketBufferBytes(bufferBytes.intValue());
        }
        if (noCrc) {
            device.unsafeNoCrc();
        }
    }

    /** The same options for a second process. */
    public List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        arguments.addAll(
                List.of("--sockets", Choice.label(kind), "--dscp", Integer.toString(dscp)));
        if (idle != null) {
            arguments.addAll(List.of("--idle", Choice.label(idle)));
        }
        if (bufferBytes != null) {
            arguments.addAll(List.of("--socket-buffer", bufferBytes.toString()));
        }
        addIf(arguments, noGso, "--no-gso");
        addIf(arguments, noGro, "--no-gro");
        addIf(arguments, noEcn, "--no-ecn");
        addIf(arguments, noCrc, "--unsafe-no-crc");
        return arguments;
    }

    private static void addIf(List<String> arguments, boolean wanted, String option) {
        if (wanted) {
            arguments.add(option);
        }
    }
}
