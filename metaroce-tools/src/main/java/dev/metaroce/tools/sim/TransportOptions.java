package dev.metaroce.tools.sim;

import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ProfileName;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

/** How the endpoints are set up. */
final class TransportOptions {
    @Option(
            names = "--profile",
            paramLabel = "M|S",
            converter = ProfileName.class,
            description = "M: many paths, selective acknowledgement. S: one path, Go-Back-N (M).")
    Profile profile = Profile.M;

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
        builder.profiles(profile.code());
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

    static final class PolicyOption extends Choice<ExhaustionPolicy> {
        PolicyOption() {
            super(ExhaustionPolicy.class);
        }
    }
}
