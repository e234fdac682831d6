package dev.metaroce.tools.sim;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.net.Transport;
import dev.metaroce.rocev2.GoBackN;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ProfileName;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.cli.TransportName;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.roce.PathMtu;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

/** How the endpoints are set up. */
final class TransportOptions {
    @Option(
            names = "--transport",
            paramLabel = "metaroce|rocev2",
            converter = TransportName.class,
            description =
                    "What endpoints speak: MetaRoCE, or RoCEv2 with its usual switches: RED, and"
                            + " CNPs in a class of their own (metaroce).")
    Transport transport = Transport.METAROCE;

    @Option(
            names = "--go-back-n",
            paramLabel = "naive|repaired",
            converter = GoBackNOption.class,
            description =
                    "With rocev2: one NAK for a gap, as most have it, or another when the packet is"
                            + " lost again (repaired).")
    @Nullable GoBackN goBackN;

    @Option(
            names = "--dcqcn",
            paramLabel = "on|off",
            converter = SwitchOption.class,
            description = "With rocev2: marks slow senders down (on).")
    @Nullable Switch dcqcn;

    @Option(
            names = "--profile",
            paramLabel = "M|S",
            converter = ProfileName.class,
            description = "M: many paths, selective acknowledgement. S: one path, Go-Back-N (M).")
    @Nullable Profile profile;

    @Option(
            names = "--mtu",
            paramLabel = "BYTES",
            converter = Numbers.PayloadMtu.class,
            description = "Largest payload per packet, a multiple of 64 in 256..65408 (4096).")
    @Nullable Integer mtu;

    @Option(
            names = "--paths",
            paramLabel = "N",
            converter = Numbers.Paths.class,
            description = "Most paths of a lease, 1..64 (64).")
    @Nullable Integer paths;

    @Option(
            names = "--contexts",
            paramLabel = "N",
            converter = Contexts.class,
            description = "Receive contexts of each endpoint, 1..256 (256).")
    @Nullable Integer contexts;

    @Option(
            names = "--policy",
            paramLabel = "queue|preempt|deny",
            converter = PolicyOption.class,
            description =
                    "Who asks for a context when none is free: waits in line; or does so while idle"
                            + " leases are asked back at once; or is refused and asks again"
                            + " (queue).")
    @Nullable ExhaustionPolicy policy;

    @Option(
            names = "--short-slots",
            paramLabel = "N",
            converter = ShortSlots.class,
            description =
                    "Contexts that flows of up to 64 KiB may have before it is their turn, 0..255"
                            + " (8).")
    @Nullable Integer shortSlots;

    @Option(
            names = "--connections",
            paramLabel = "warm|cold|close",
            converter = ConnectionsOption.class,
            description =
                    "Flows that start at once find their connection open with a lease (warm), as"
                            + " where nothing has to be opened; or they open it first (cold); or"
                            + " they do, and close it when they are done (close) (warm, with"
                            + " --sweep close).")
    @Nullable Connections connections;

    @Option(
            names = "--no-hints",
            description = "Receivers do not tell senders which rate they may take.")
    boolean noHints;

    /** On or off. */
    enum Switch {
        ON,
        OFF
    }

    boolean isRoce() {
        return transport == Transport.ROCE_V2;
    }

    /** Refuses what would be ignored. */
    void check(MechanismOptions mechanisms) {
        if (!isRoce() && (goBackN != null || dcqcn != null)) {
            throw ToolException.usage(
                    "--go-back-n and --dcqcn are for --transport rocev2: give it too");
        }
        boolean leases =
                profile != null
                        || paths != null
                        || contexts != null
                        || policy != null
                        || shortSlots != null
                        || noHints
                        || !mechanisms.mechanisms().equals(Mechanisms.DEFAULT);
        if (isRoce() && leases) {
            throw ToolException.usage(
                    "--transport rocev2 has one path and no leases, hints or mechanisms: of the"
                            + " endpoint options it takes --go-back-n, --dcqcn, --mtu and"
                            + " --connections");
        }
        if (isRoce() && mtu != null && !PathMtu.isValid(mtu)) {
            throw ToolException.usage(
                    "--mtu %d: RoCEv2 has 256, 512, 1024, 2048 and 4096".formatted(mtu));
        }
    }

    /**
     * The settings of RoCEv2; null for MetaRoCE.
     *
     * @param lineBitsPerSecond of a host
     */
    @Nullable RoceSettings roce(long lineBitsPerSecond) {
        if (!isRoce()) {
            return null;
        }
        RoceSettings.Builder builder = SimConfig.roce(lineBitsPerSecond).toBuilder();
        if (goBackN != null) {
            builder.trigger(goBackN);
        }
        return builder.dcqcn(dcqcn == Switch.OFF ? null : DcqcnSettings.published()).build();
    }

    Connections connections() {
        return connections == null ? Connections.WARM : connections;
    }

    /**
     * @param inboundRateBitsPerSecond what a host can receive
     */
    DeviceLimits limits(long inboundRateBitsPerSecond, Mechanisms mechanisms) {
        DeviceLimits.Builder builder =
                SimConfig.limits(noHints ? 0 : inboundRateBitsPerSecond).toBuilder();
        builder.mechanisms(mechanisms);
        if (profile != null) {
            builder.profiles(profile.code());
        }
        if (mtu != null) {
            builder.payloadMtu(mtu);
        }
        // A simulated network has ways for all of them.
        builder.maxPaths(paths == null ? DeviceLimits.MAX_PATHS : paths);
        if (contexts != null) {
            builder.contexts(contexts);
        }
        if (policy != null) {
            builder.policy(policy);
        }
        if (shortSlots != null) {
            builder.shortSlots(shortSlots);
        }
        return builder.build();
    }

    static final class Contexts extends Whole {
        Contexts() {
            super(1, 256);
        }
    }

    static final class ShortSlots extends Whole {
        ShortSlots() {
            super(0, 255);
        }
    }

    static final class ConnectionsOption extends Choice<Connections> {
        ConnectionsOption() {
            super(Connections.class);
        }
    }

    static final class GoBackNOption extends Choice<GoBackN> {
        GoBackNOption() {
            super(GoBackN.class);
        }
    }

    static final class SwitchOption extends Choice<Switch> {
        SwitchOption() {
            super(Switch.class);
        }
    }

    static final class PolicyOption extends Choice<ExhaustionPolicy> {
        PolicyOption() {
            super(ExhaustionPolicy.class);
        }
    }
}
