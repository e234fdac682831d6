package dev.metaroce.net;

import dev.metaroce.engine.Engine;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.AddressList;
import dev.metaroce.wire.NetAddress;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

/**
 * An RDMA device on real UDP sockets: opens port, engine and driver, and keeps them together.
 *
 * <pre>{@code
 * try (UdpDevice udp = UdpDevice.open(DeviceOptions.builder().port(0).build())) {
 *     Connection c = udp.rdma().connect(UdpDevice.resolve("server", 50791), 1, new byte[0]);
 *     ...
 * }
 * }</pre>
 *
 * <p>Any thread may call the queries here; who may call what on {@link #rdma()} depends on the
 * {@link DriveMode}.
 */
public final class UdpDevice implements AutoCloseable {
    /**
     * Part of the socket buffer that senders together may fill. The kernel charges each datagram
     * with its own bookkeeping and a rounded-up size; measured on Linux, payload of half the
     * reported buffer size fits with a wide margin from 512 bytes per packet up.
     */
    private static final int RECEIVE_BUFFER_SHARE = 2;

    private static final long INCARNATION_UNIT_MS = 10;

    private final RdmaDevice rdma;
    private final Port port;
    private final DriveMode driveMode;
    private final List<String> warnings;

    private UdpDevice(RdmaDevice rdma, Port port, DriveMode driveMode, List<String> warnings) {
        this.rdma = rdma;
        this.port = port;
        this.driveMode = driveMode;
        this.warnings = warnings;
    }

    /**
     * Opens the sockets and, in thread mode, starts the driver thread.
     *
     * @throws NetSetupException when the address is unknown, taken or not allowed; its message is
     *     one line for the user
     */
    public static UdpDevice open(DeviceOptions options) {
        List<String> warnings = new ArrayList<>();
        Port port = Port.open(portOptions(options));
        try {
            DeviceLimits limits = fitLimits(options, port, warnings);
            Engine engine = newEngine(options, limits, port);
            UdpDriver driver = new UdpDriver(engine, port, options);
            RdmaDevice rdma = new RdmaDevice(engine, driver);
            driver.start();
            return new UdpDevice(rdma, port, options.driveMode(), warnings);
        } catch (RuntimeException | Error e) {
            port.close();
            throw e;
        }
    }

    /**
     * Opens a device with a driver thread and the usual options.
     *
     * @param host address or name to bind; peers reach the device there
     * @param port UDP port, 0..65535; 0 takes any free one
     * @throws NetSetupException as {@link #open(DeviceOptions)}
     */
    public static UdpDevice open(String host, int port) {
        return open(DeviceOptions.builder().bind(host).port(port).build());
    }

    private static PortOptions portOptions(DeviceOptions options) {
        List<InetAddress> planes = new ArrayList<>();
        for (String host : options.bindHosts()) {
            planes.add(Addresses.resolveHost(host)[0]);
        }
        if (planes.size() > AddressList.MAX) {
            throw new NetSetupException(
                    "cannot bind %d addresses: a device has at most %d"
                            .formatted(planes.size(), AddressList.MAX));
        }
        if (options.transport() == Transport.ROCE_V2
                && (planes.isEmpty() || planes.stream().anyMatch(InetAddress::isAnyLocalAddress))) {
            throw new NetSetupException(
                    "RoCEv2 cannot be bound to all addresses, since its checksum covers the"
                            + " address: give one of this machine's own");
        }
        boolean mixed = planes.stream().map(Object::getClass).distinct().count() > 1;
        if (mixed || planes.stream().distinct().count() < planes.size()) {
            throw new NetSetupException(
                    "cannot bind "
                            + String.join(", ", options.bindHosts())
                            + ": give different addresses, all IPv4 or all IPv6");
        }
        return new PortOptions(
                options.transport(),
                planes,
                options.port(),
                options.limits().routes(),
                options.socketBufferBytes(),
                options.sockets(),
                options.gso(),
                options.gro(),
                options.ecn(),
                options.dscp(),
                options.checksums());
    }

    /** The limits asked for, lowered to what links and socket buffers can carry. */
    private static DeviceLimits fitLimits(DeviceOptions options, Port port, List<String> warnings) {
        DeviceLimits asked = options.limits();
        InetAddress local = port.localAddresses().getFirst().getAddress();
        int carried = Addresses.PAYLOAD_BYTES_MAX;
        for (InetSocketAddress plane : port.localAddresses()) {
            carried = Math.min(carried, Addresses.payloadMtuOfLocal(plane.getAddress()));
        }
        if (!options.targetHint().isEmpty()) {
            try {
                InetAddress target = Addresses.resolveHost(options.targetHint())[0];
                int towards =
                        Addresses.payloadMtuFor(
                                Addresses.toNetAddress(new InetSocketAddress(target, 1)));
                // Whoever binds no address leaves the choice of the link to the route.
                carried = local.isAnyLocalAddress() ? towards : Math.min(carried, towards);
            } catch (NetSetupException e) {
                // A route that is missing now may be there when the connection is tried.
                warnings.add("payload size not fitted to the target: " + e.getMessage());
            }
        }
        DeviceLimits.Builder fitted = asked.toBuilder();
        fitted.payloadMtu(Math.min(asked.payloadMtu(), carried));
        if (asked.receiveWindowBytes() == 0) {
            fitted.receiveWindowBytes(port.info().receiveBufferBytes() / RECEIVE_BUFFER_SHARE);
        }
        return fitted.build();
    }

    /**
     * The addresses of which peers are told: none when there is one, or when one of them means
     * nothing without the name of a link.
     */
    private static List<NetAddress> toldAddresses(Port port) {
        List<NetAddress> planes =
                port.localAddresses().stream().map(Addresses::toNetAddress).toList();
        boolean hasZone = planes.stream().anyMatch(plane -> plane.scopeId() != 0);
        return planes.size() == 1 || hasZone ? List.of() : planes;
    }

    private static Engine newEngine(DeviceOptions options, DeviceLimits limits, Port port) {
        Rng rng;
        IntSupplier keys;
        if (options.isSeeded()) {
            rng = new Rng(options.seed());
            keys = rng.fork("keys")::nextInt;
        } else {
            SecureRandom secure = new SecureRandom();
            rng = new Rng(secure.nextLong());
            //= MR-6-1
            keys = secure::nextInt;
        }
        return switch (options.transport()) {
            case METAROCE ->
                    new Engine(limits, identity(options, rng, port), rng, keys, options.events());
            case ROCE_V2 -> {
                RoceSettings settings = roceSettings(options, port);
                yield new Engine(new RoceProtocol(limits, settings, keys, options.events()), keys);
            }
        };
    }

    /** All planes have the same ports. */
    private static RoceSettings roceSettings(DeviceOptions options, Port port) {
        List<NetAddress> addresses =
                port.localAddresses().stream().map(Addresses::toNetAddress).toList();
        List<Integer> ports =
                IntStream.rangeClosed(0, options.limits().routes())
                        .mapToObj(route -> port.routePort(0, route))
                        .toList();
        RoceSettings.Builder settings = RoceSettings.at(addresses.getFirst()).toBuilder();
        return options.roce().apply(settings).addresses(addresses).sourcePorts(ports).build();
    }

    private static EndpointIdentity identity(DeviceOptions options, Rng rng, Port port) {
        //= MR-1.2-4
        int incarnation = (int) (System.currentTimeMillis() / INCARNATION_UNIT_MS);
        //= MR-1.2-3
        long endpointId =
                options.isSeeded()
                        ? rng.fork("endpoint").nextLong()
                        : new SecureRandom().nextLong();
        return new EndpointIdentity(endpointId, incarnation, toldAddresses(port));
    }

    /** The device as applications use it. */
    public RdmaDevice rdma() {
        return rdma;
    }

    /** Address and port of the device; the wildcard address if it was bound to that. */
    public InetSocketAddress localAddress() {
        return port.localAddresses().getFirst();
    }

    /** Where peers of this device's network reach it, when it was bound to an address. */
    public NetAddress address() {
        return Addresses.toNetAddress(localAddress());
    }

    /** Address and port of each plane; one when the device is bound to one address or to all. */
    public List<InetSocketAddress> localAddresses() {
        return port.localAddresses();
    }

    public DriveMode driveMode() {
        return driveMode;
    }

    /**
     * UDP source port of a route of the first plane.
     *
     * @param route 0 for the device's own socket, 1..{@code rdma().limits().routes()} for the
     *     others
     */
    public int routePort(int route) {
        return port.routePort(0, route);
    }

    /** What the sockets did since the device was opened. */
    public PortStats stats() {
        return port.stats();
    }

    /** One line each for what this machine grants less of than wanted; tools print them. */
    public List<String> warnings() {
        List<String> all = new ArrayList<>(port.warnings());
        all.addAll(warnings);
        return all;
    }

    /** The sockets in use, and which features of theirs. */
    public SocketInfo sockets() {
        return port.info();
    }

    /**
     * The address a user wrote, for {@code RdmaDevice.connect}; see {@link Addresses#resolveAll}
     * for the forms, and for names with several addresses.
     *
     * @throws IllegalArgumentException when the text is not an address with or without port
     * @throws NetSetupException when the host is unknown or the address needs a zone
     */
    public static NetAddress resolve(String hostPort, int defaultPort) {
        return Addresses.toNetAddress(Addresses.resolve(hostPort, defaultPort));
    }

    /**
     * The address a user wrote, for {@code RdmaDevice.connect}, on the plane whose own address the
     * route to the target has; on the first plane when it has none of them.
     *
     * @throws IllegalArgumentException when the text is not an address with or without port
     * @throws NetSetupException when the host is unknown or the address needs a zone
     */
    public NetAddress address(String hostPort, int defaultPort) {
        InetSocketAddress target = Addresses.resolve(hostPort, defaultPort);
        NetAddress address = Addresses.toNetAddress(target);
        InetAddress source = Addresses.sourceTowards(target.getAddress());
        for (int plane = 0; plane < localAddresses().size(); plane++) {
            if (localAddresses().get(plane).getAddress().equals(source)) {
                return address.onPlane(plane);
            }
        }
        return address;
    }

    /** Stops the driver and closes the sockets; a second call does nothing. */
    @Override
    public void close() {
        rdma.close();
    }
}
