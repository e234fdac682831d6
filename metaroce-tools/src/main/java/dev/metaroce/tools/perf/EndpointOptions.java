package dev.metaroce.tools.perf;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.net.Transport;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.ProfileName;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.cli.TransportName;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.SocketOptions;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.util.List;

/** What every perf command says about its own end: address, port, and how the device works. */
class EndpointOptions {
    static final int DEFAULT_PORT = 18_515;

    @Mixin final SocketOptions sockets = new SocketOptions();

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            converter = Numbers.Port.class,
            description =
                    "UDP port of the server (18515); 0 lets the server choose a free one. With"
                            + " --exchange perftest its TCP port.")
    @Nullable Integer port;

    @Option(
            names = "--transport",
            paramLabel = "metaroce|rocev2",
            converter = TransportName.class,
            defaultValue = "metaroce",
            description =
                    "Protocol on the wire. rocev2: that of other RDMA devices, at UDP port 4791;"
                            + " a server needs --bind with it (metaroce).")
    Transport transport = Transport.METAROCE;

    @Option(
            names = {"-u", "--qp-timeout"},
            paramLabel = "N",
            converter = QpTimeout.class,
            defaultValue = "17",
            description =
                    "rocev2: packets are sent again, up to 7 times in a row, after 4.096 us * 2^N"
                            + " without an answer, 1..31 (17: 0.54 s).")
    int qpTimeout;

    @Option(
            names = "--bind",
            paramLabel = "ADDRESS[,...]",
            description = "Local address, or several of one family, one per plane (any).")
    @Nullable String bind;

    @Option(names = "--json", description = "One JSON document on standard output, nothing else.")
    boolean json;

    @Option(
            names = "--mtu",
            paramLabel = "BYTES",
            converter = Numbers.PayloadMtu.class,
            description = "Largest payload per packet, a multiple of 64 in 256..65408 (8896).")
    @Nullable Integer mtu;

    @Option(
            names = "--profile",
            paramLabel = "S|M",
            converter = ProfileName.class,
            description =
                    "S: one path, Go-Back-N. M: many paths, selective acknowledgement (the "
                            + "best both ends offer).")
    @Nullable Profile profile;

    @Option(
            names = "--paths",
            paramLabel = "N",
            converter = Numbers.Paths.class,
            description = "Most paths of a lease, 1..64 (8).")
    @Nullable Integer paths;

    @Option(
            names = "--drive",
            paramLabel = "inline|thread",
            converter = DriveName.class,
            defaultValue = "inline",
            description =
                    "inline: the testing thread moves the packets. thread: a driver thread "
                            + "does (inline).")
    DriveMode drive;

    @Option(names = "-4", description = "Use IPv4 only.")
    boolean ipv4;

    @Option(
            names = {"-6", "--ipv6"},
            description = "Use IPv6 only.")
    boolean ipv6;

    @Option(names = "--end-with-parent", hidden = true)
    boolean endWithParent;

    /**
     * Refuses combinations that make no sense, naming the options.
     *
     * @param server this end waits for others
     */
    void checkEndpoint(boolean server) {
        refuse(ipv4 && ipv6, "-4 and -6 exclude each other: give one");
        if (transport == Transport.ROCE_V2) {
            String not = " is of MetaRoCE: leave it or --transport rocev2 out";
            refuse(profile != null, "--profile" + not);
            refuse(paths != null, "--paths" + not);
            refuse(sockets.isWithoutCrc(), "--unsafe-no-crc" + not);
            refuse(
                    server && bind == null,
                    "--transport rocev2 needs --bind ADDRESS: its checksum covers the address");
        }
    }

    /** Refuses a UDP port: RoCEv2 has one. */
    void checkRocePort() {
        refuse(
                transport == Transport.ROCE_V2 && port != null,
                "-p/--port: RoCEv2 packets go to UDP port 4791 only: leave it out");
    }

    static void refuse(boolean wrong, String message) {
        if (wrong) {
            throw ToolException.usage(message);
        }
    }

    /** The port of the server: UDP of MetaRoCE, TCP of perftest. */
    int port() {
        return port == null ? DEFAULT_PORT : port;
    }

    /** Where the device of a host may be, by any of its addresses. */
    List<InetSocketAddress> devices(String host) {
        boolean roce = transport == Transport.ROCE_V2;
        int udpPort = roce ? transport.defaultPort() : port();
        List<InetSocketAddress> found = Endpoint.resolve(host, udpPort, family());
        refuse(
                roce && found.getFirst().getPort() != udpPort,
                host + ": RoCEv2 packets go to UDP port 4791 only: leave the port out");
        return found;
    }

    /** Which addresses of a name count. */
    Endpoint.Family family() {
        if (ipv4) {
            return Endpoint.Family.IPV4;
        }
        return ipv6 ? Endpoint.Family.IPV6 : Endpoint.Family.ANY;
    }

    /**
     * A device as these options want it.
     *
     * @param udpPort of MetaRoCE; RoCEv2 has its own
     * @param target whom it is going to talk to, null when that is not known
     */
    DeviceOptions.Builder device(int udpPort, @Nullable InetSocketAddress target) {
        DeviceOptions.Builder builder =
                DeviceOptions.builder().transport(transport).driveMode(drive);
        sockets.apply(builder);
        if (transport == Transport.METAROCE) {
            builder.port(udpPort);
        } else {
            builder.roce(settings -> settings.ackTimeout(qpTimeout));
        }
        if (bind != null) {
            builder.bind(bind.split(",", -1));
        } else if (transport == Transport.ROCE_V2 && target != null) {
            builder.bind(Endpoint.sourceTowards(target));
        } else if (ipv4) {
            builder.bind("0.0.0.0");
        }
        if (mtu != null) {
            builder.payloadMtu(mtu);
        }
        if (profile != null) {
            builder.profiles(profile.code());
        }
        if (paths != null) {
            builder.paths(paths);
        }
        return builder;
    }

    /**
     * Where perftest's exchange is waited for. perftest speaks it over IPv4 also when RoCEv2 is to
     * run over IPv6: then it may come to any address. Refuses several addresses.
     */
    InetSocketAddress exchangeAddress() {
        String host = java.util.Objects.requireNonNull(bind);
        InetSocketAddress at = Endpoint.resolve(host, port(), family()).getFirst();
        return at.getAddress() instanceof Inet6Address ? new InetSocketAddress(port()) : at;
    }

    static final class QpTimeout extends Numbers.Whole {
        QpTimeout() {
            super(1, 31);
        }
    }

    static final class DriveName implements ITypeConverter<DriveMode> {
        @Override
        public DriveMode convert(String text) {
            return switch (text) {
                case "inline" -> DriveMode.INLINE;
                case "thread" -> DriveMode.THREAD;
                default ->
                        throw new TypeConversionException("'" + text + "' is not inline or thread");
            };
        }
    }
}
