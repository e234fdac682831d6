package dev.metaroce.tools.info;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.net.NetSetupException;
import dev.metaroce.net.SocketInfo;
import dev.metaroce.tools.MetaRoce;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Profile;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

/**
 * {@code metaroce devinfo}: what a device on this machine would be. Opens sockets, sends nothing.
 */
@Command(
        name = "devinfo",
        mixinStandardHelpOptions = true,
        description = "Shows limits, memory per context, and what this machine offers.")
public final class DevInfoCommand implements Callable<Integer>, JsonReporter {
    private static final String RECEIVE_SYSCTL = "net.core.rmem_max";
    private static final String SEND_SYSCTL = "net.core.wmem_max";
    private static final int WIRE_VERSION = 1;
    private static final int PERF_PORT = 18_515;
    private static final double MS = 1e6;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "One JSON document on standard output, nothing else.")
    private boolean json;

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
        DevInfo info = collect();
        if (json) {
            ObjectNode document = document();
            document.setAll(Json.tree(info));
            spec.commandLine().getOut().println(Json.pretty(document));
        } else {
            show(info, Terminal.of(spec.commandLine().getOut()));
        }
        return 0;
    }

    private static DevInfo collect() {
        DeviceLimits limits = DeviceLimits.defaults();
        // Asked from a device rather than computed, so that it cannot differ from the truth.
        DeviceOptions options = DeviceOptions.builder().port(0).driveMode(DriveMode.INLINE).build();
        long tableBytes;
        SocketInfo sockets;
        List<String> warnings;
        try (Endpoint endpoint = Endpoint.open(options)) {
            tableBytes = endpoint.rdma().contextTableBytes();
            sockets = endpoint.sockets();
            warnings = endpoint.warnings();
        }
        return new DevInfo(
                null,
                MetaRoce.version(),
                WIRE_VERSION,
                Addresses.DEFAULT_PORT,
                PERF_PORT,
                host(),
                limits(limits),
                new DevInfo.Memory(tableBytes, tableBytes / limits.contexts()),
                profiles(limits),
                ports(sockets),
                links(),
                warnings);
    }

    private static DevInfo.Host host() {
        return new DevInfo.Host(
                System.getProperty("java.version"),
                System.getProperty("java.vm.name"),
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                Runtime.getRuntime().maxMemory(),
                DevInfoCommand.class.getModule().isNativeAccessEnabled());
    }

    private static DevInfo.Limits limits(DeviceLimits limits) {
        return new DevInfo.Limits(
                limits.contexts(),
                limits.maxPaths(),
                limits.routes() + 1,
                limits.payloadMtu(),
                limits.openMessages(),
                limits.maxWaiters(),
                limits.maxWaitersPerPeer(),
                limits.maxConnections(),
                limits.policy().name().toLowerCase(Locale.ROOT),
                QueuePair.MAX_MESSAGE_BYTES,
                limits.quotaBytes(),
                limits.quotaTimeNs() / MS,
                limits.shortSlots(),
                limits.shortDemandBytes(),
                limits.reclaimDeadlineNs() / MS,
                limits.lingerNs() / MS,
                limits.giveUpNs() / MS);
    }

    private static List<DevInfo.ProfileInfo> profiles(DeviceLimits limits) {
        List<DevInfo.ProfileInfo> profiles = new ArrayList<>();
        for (Profile profile : Profile.values()) {
            int paths = profile == Profile.S ? 1 : limits.maxPaths();
            int bytes = RdmaDevice.contextBytes(profile, paths);
            String words =
                    switch (profile) {
                        case S -> "one path, Go-Back-N, cumulative acknowledgement";
                        case M -> "many paths, each with 256-bit selective acknowledgement";
                    };
            profiles.add(
                    new DevInfo.ProfileInfo(
                            profile.name(), words, paths, bytes, (long) bytes * limits.contexts()));
        }
        return profiles;
    }

    private static DevInfo.Ports ports(SocketInfo sockets) {
        return new DevInfo.Ports(
                Choice.label(sockets.kind()),
                sockets.gso(),
                sockets.gro(),
                sockets.ecn(),
                sockets.receiveBufferBytes(),
                SocketInfo.WANTED_BUFFER_BYTES,
                RECEIVE_SYSCTL,
                sockets.sendBufferBytes(),
                SocketInfo.WANTED_BUFFER_BYTES,
                SEND_SYSCTL);
    }

    private static List<DevInfo.Link> links() {
        List<DevInfo.Link> links = new ArrayList<>();
        try {
            for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
                if (each.isUp()) {
                    links.add(link(each));
                }
            }
        } catch (SocketException e) {
            throw ToolException.environment("cannot list interfaces: " + e.getMessage());
        }
        return links;
    }

    private static DevInfo.Link link(NetworkInterface each) throws SocketException {
        List<String> addresses = new ArrayList<>();
        Integer ipv4 = null;
        Integer ipv6 = null;
        for (InetAddress address : each.inetAddresses().toList()) {
            addresses.add(address.getHostAddress());
            try {
                int payload =
                        Addresses.payloadMtuFor(
                                Addresses.toNetAddress(new InetSocketAddress(address, 1)));
                if (address instanceof Inet4Address) {
                    ipv4 = payload;
                } else {
                    ipv6 = payload;
                }
            } catch (NetSetupException e) {
                // No route to an own address: the family is switched off on this interface.
            }
        }
        return new DevInfo.Link(each.getName(), each.getMTU(), addresses, ipv4, ipv6);
    }

    // ---- text ----

    private static void show(DevInfo info, Terminal out) {
        out.line(
                "%s, wire version %d, UDP port %d (perf: %d)",
                out.bold("metaroce " + info.version()),
                info.wireVersion(),
                info.defaultPort(),
                info.defaultPerfPort());
        DevInfo.Host host = info.host();
        out.line("");
        pair(out, "Java", host.javaVersion() + ", " + host.vm());
        pair(out, "machine", host.os() + ", " + host.processors() + " processors");
        pair(out, "largest heap", Terminal.bytes(host.heapMaxBytes()));
        pair(out, "native access", host.nativeAccess() ? "allowed" : "not allowed");
        showLimits(info.limits(), out);
        showMemory(info, out);
        showPorts(info, out);
        for (String warning : info.warnings()) {
            out.line(out.yellow("  note: " + warning));
        }
    }

    private static void showLimits(DevInfo.Limits limits, Terminal out) {
        out.line("");
        out.line(out.bold("limits of a device"));
        pair(out, "receive contexts", Integer.toString(limits.contexts()));
        pair(
                out,
                "when none is free",
                "%s, up to %,d waiters, %d per peer"
                        .formatted(
                                limits.exhaustionPolicy(),
                                limits.waitersMax(),
                                limits.waitersPerPeerMax()));
        pair(
                out,
                "paths per lease",
                "up to %d, over %d sockets"
                        .formatted(limits.pathsPerLeaseMax(), limits.sendingSockets()));
        pair(out, "payload per packet", "up to %,d B".formatted(limits.payloadMtuMax()));
        pair(out, "message", "up to " + Terminal.bytes(limits.messageBytesMax()));
        pair(out, "connections", "up to %,d".formatted(limits.connectionsMax()));
        pair(
                out,
                "lease quota",
                "%s or %.0f ms while others wait; lost %.0f s after it was asked for"
                        .formatted(
                                Terminal.bytes(limits.leaseQuotaBytes()),
                                limits.leaseQuotaMs(),
                                limits.reclaimDeadlineMs() / 1_000));
        pair(
                out,
                "short requests",
                limits.shortSlotsMax() == 0
                        ? "wait as others do"
                        : "up to %s go first, with up to %d contexts"
                                .formatted(
                                        Terminal.bytes(limits.shortBytesMax()),
                                        limits.shortSlotsMax()));
        pair(
                out,
                "idle lease kept",
                "%.0f ms; work fails after %.0f ms without progress"
                        .formatted(limits.lingerMs(), limits.giveUpMs()));
    }

    private static void showMemory(DevInfo info, Terminal out) {
        out.line("");
        out.line(out.bold("memory of receive contexts, whatever the number of peers"));
        for (DevInfo.ProfileInfo profile : info.profiles()) {
            pair(
                    out,
                    "profile " + profile.name(),
                    "%d B with %d path%s, all contexts %s (%s)"
                            .formatted(
                                    profile.contextBytes(),
                                    profile.paths(),
                                    profile.paths() == 1 ? "" : "s",
                                    Terminal.bytes(profile.allContextsBytes()),
                                    profile.description()));
        }
        pair(
                out,
                "allocated",
                "%s with message tables, %,d B per context"
                        .formatted(
                                Terminal.bytes(info.memory().contextTableBytes()),
                                info.memory().contextTableBytesPerContext()));
    }

    private static void showPorts(DevInfo info, Terminal out) {
        DevInfo.Ports ports = info.ports();
        out.line("");
        out.line(out.bold("network"));
        pair(
                out,
                "sockets",
                switch (ports.sockets()) {
                    case "linux" -> "linux, many datagrams per system call";
                    default -> ports.sockets() + ", one datagram per system call";
                });
        pair(out, "GSO / GRO", onOff(ports.gso()) + " / " + onOff(ports.gro()));
        pair(out, "ECN", onOff(ports.ecn()));
        pair(
                out,
                "receive buffer",
                buffer(
                        ports.receiveBufferBytes(),
                        ports.receiveBufferWantedBytes(),
                        ports.receiveBufferSysctl()));
        pair(
                out,
                "send buffer",
                buffer(
                        ports.sendBufferBytes(),
                        ports.sendBufferWantedBytes(),
                        ports.sendBufferSysctl()));
        out.line("");
        out.line("  %-16s %8s %14s %14s", "interface", "MTU", "payload IPv4", "payload IPv6");
        for (DevInfo.Link link : info.interfaces()) {
            out.line(
                    "  %-16s %8d %14s %14s",
                    link.name(),
                    link.mtu(),
                    orDash(link.payloadMtuIpv4()),
                    orDash(link.payloadMtuIpv6()));
        }
    }

    private static String onOff(boolean on) {
        return on ? "on" : "off";
    }

    private static String buffer(int has, int wanted, String sysctl) {
        return "%s of %s wanted%s"
                .formatted(
                        Terminal.bytes(has),
                        Terminal.bytes(wanted),
                        has < wanted ? " (" + sysctl + ")" : "");
    }

    private static String orDash(@org.jspecify.annotations.Nullable Integer value) {
        return value == null ? "-" : String.format(Locale.ROOT, "%,d", value);
    }

    private static void pair(Terminal out, String label, String value) {
        out.line("  %-20s %s", label, value);
    }
}
