package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * Addresses as people write them, as sockets want them and as the engine keeps them; and what the
 * interface behind an address can carry.
 *
 * <p>Stateless; any thread. Nothing here is for the hot path.
 */
public final class Addresses {
    //= MR-1.2-1
    /** The UDP port of MetaRoCE when none is given. */
    public static final int DEFAULT_PORT = 50_791;

    /** The UDP port of RoCEv2, to which all its packets go. */
    public static final int ROCE_PORT = 4791;

    /** Largest payload any route gets: the multiple of 64 below what a UDP datagram can hold. */
    public static final int PAYLOAD_BYTES_MAX = 65_408;

    /** Smallest payload a device accepts; no link in use is too narrow for it. */
    static final int PAYLOAD_BYTES_MIN = 256;

    /** Headers and trailer of the largest packet around its payload. */
    static final int PACKET_OVERHEAD_BYTES = 56;

    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int UDP_BYTES = 8;

    /** Assumed when an interface does not tell. */
    private static final int ETHERNET_MTU = 1500;

    /** Any port will do: connecting a UDP socket sends nothing, it only looks up the route. */
    private static final int DISCARD_PORT = 9;

    private static final int PORT_MAX = 65_535;

    private Addresses() {}

    /** The engine's form of a resolved socket address; IPv4 is mapped into IPv6. */
    public static NetAddress toNetAddress(InetSocketAddress socketAddress) {
        InetAddress address = socketAddress.getAddress();
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        if (address instanceof Inet6Address six) {
            return new NetAddress(
                    bytes.getLong(), bytes.getLong(), socketAddress.getPort(), scopeOf(six), 0);
        }
        return NetAddress.ofIpv4(bytes.getInt(), socketAddress.getPort());
    }

    /** The socket form of an engine address. */
    public static InetSocketAddress toSocketAddress(NetAddress address) {
        try {
            InetAddress host;
            if (address.isIpv4()) {
                byte[] four = ByteBuffer.allocate(4).putInt((int) address.low()).array();
                host = InetAddress.getByAddress(four);
            } else {
                byte[] sixteen =
                        ByteBuffer.allocate(16)
                                .putLong(address.high())
                                .putLong(address.low())
                                .array();
                // -1 and not 0: scope 0 is "no zone" here, but would be kept as a zone there.
                int scope = address.scopeId() == 0 ? -1 : address.scopeId();
                host = Inet6Address.getByAddress(null, sixteen, scope);
            }
            return new InetSocketAddress(host, address.port());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of 4 or 16 bytes is always known", e);
        }
    }

    /** IPv6 zone index of the address, 0 when it has none or is IPv4. */
    static int scopeOf(InetAddress address) {
        return address instanceof Inet6Address six ? six.getScopeId() : 0;
    }

    /** True for IPv6 addresses that mean something only together with an interface. */
    static boolean isZoned(InetAddress address) {
        return address instanceof Inet6Address && address.isLinkLocalAddress();
    }

    /**
     * The first address of {@link #resolveAll}.
     *
     * @throws IllegalArgumentException when the text is not an address with or without port
     * @throws NetSetupException when the host is unknown or the address needs a zone
     */
    public static InetSocketAddress resolve(String text, int defaultPort) {
        return resolveAll(text, defaultPort).get(0);
    }

    /**
     * All addresses of what a user wrote: {@code host}, {@code host:port}, {@code ::1}, {@code
     * [::1]}, {@code [::1]:port}, {@code fe80::1%eth0}, in the order the system prefers them. A
     * name may have IPv4 and IPv6 addresses of which only one answers: try them in turn.
     *
     * @param defaultPort port when the text has none, 1..65535
     * @throws IllegalArgumentException when the text is not an address with or without port
     * @throws NetSetupException when the host is unknown or the address needs a zone
     */
    public static List<InetSocketAddress> resolveAll(String text, int defaultPort) {
        String host = text.strip();
        int port = defaultPort;
        String portText = null;
        if (host.startsWith("[")) {
            int end = host.indexOf(']');
            String rest = end < 0 ? "" : host.substring(end + 1);
            if (end < 0 || !(rest.isEmpty() || rest.startsWith(":"))) {
                throw badAddress(text, "brackets do not match");
            }
            portText = rest.isEmpty() ? null : rest.substring(1);
            host = host.substring(1, end);
            if (host.indexOf(':') < 0) {
                throw badAddress(text, "brackets are for IPv6 addresses");
            }
        } else if (host.indexOf(':') >= 0 && host.indexOf(':') == host.lastIndexOf(':')) {
            int colon = host.indexOf(':');
            portText = host.substring(colon + 1);
            host = host.substring(0, colon);
        }
        if (portText != null) {
            port = parsePort(text, portText);
        }
        if (host.isEmpty()) {
            // The JDK takes an empty name for loopback; a user who forgot the host means no host.
            throw badAddress(text, "there is no host");
        }
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (InetAddress address : resolveHost(host)) {
            addresses.add(new InetSocketAddress(address, port));
        }
        return addresses;
    }

    /**
     * All addresses of a host name or address literal without port; brackets are allowed around
     * IPv6.
     *
     * @throws NetSetupException when the host is unknown or the address needs a zone
     */
    static InetAddress[] resolveHost(String host) {
        InetAddress[] addresses;
        try {
            addresses = InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new NetSetupException(unknownHost(host), e);
        }
        for (InetAddress address : addresses) {
            if (isZoned(address) && scopeOf(address) == 0) {
                throw new NetSetupException(
                        "address "
                                + host
                                + " is link-local and needs a zone: write "
                                + address.getHostAddress()
                                + "%<interface> (interfaces here: "
                                + interfaceNames()
                                + ")");
            }
        }
        return addresses;
    }

    private static String unknownHost(String host) {
        int percent = host.indexOf('%');
        if (percent >= 0) {
            return "address "
                    + host
                    + ": there is no interface \""
                    + host.substring(percent + 1)
                    + "\" or the address is wrong (interfaces here: "
                    + interfaceNames()
                    + ")";
        }
        if (host.indexOf(':') >= 0) {
            return "address \"" + host + "\" is not an IPv6 address; check the spelling";
        }
        return "unknown host \"" + host + "\": check the spelling or give its IP address";
    }

    private static int parsePort(String text, String portText) {
        boolean digits = !portText.isEmpty() && portText.length() <= 5;
        for (int i = 0; i < portText.length(); i++) {
            digits &= portText.charAt(i) >= '0' && portText.charAt(i) <= '9';
        }
        int port = digits ? Integer.parseInt(portText) : -1;
        if (port < 1 || port > PORT_MAX) {
            throw badAddress(text, "port \"" + portText + "\" is not in 1.." + PORT_MAX);
        }
        return port;
    }

    private static IllegalArgumentException badAddress(String text, String why) {
        return new IllegalArgumentException(
                "address \""
                        + text
                        + "\": "
                        + why
                        + "; write host, host:port, an IPv6 address or [IPv6]:port");
    }

    /**
     * The largest payload per packet that the interface towards {@code target} carries in one
     * piece: its MTU less IP, UDP and our headers, a multiple of 64, at most {@value
     * #PAYLOAD_BYTES_MAX} bytes. It knows the first link, not the whole route.
     *
     * @throws NetSetupException when there is no route to the target
     */
    public static int payloadMtuFor(NetAddress target) {
        InetSocketAddress socketAddress = toSocketAddress(target);
        NetworkInterface link = interfaceTowards(socketAddress.getAddress());
        return payloadMtu(link == null ? ETHERNET_MTU : mtuOf(link), target.isIpv4());
    }

    /** Payload bytes per packet on a link of {@code linkMtu} bytes; see {@link #payloadMtuFor}. */
    static int payloadMtu(int linkMtu, boolean ipv4) {
        int room = linkMtu - (ipv4 ? IPV4_BYTES : IPV6_BYTES) - UDP_BYTES - PACKET_OVERHEAD_BYTES;
        return Math.clamp(room - room % 64, PAYLOAD_BYTES_MIN, PAYLOAD_BYTES_MAX);
    }

    /**
     * What a device bound to {@code local} can carry to whoever comes. For the wildcard address
     * that is the least of all its links but loopback: a packet that is too long never arrives, one
     * that is too short only costs speed.
     */
    static int payloadMtuOfLocal(InetAddress local) {
        try {
            if (!local.isAnyLocalAddress()) {
                NetworkInterface link = linkOf(local);
                int mtu = link == null ? ETHERNET_MTU : mtuOf(link);
                return payloadMtu(mtu, local instanceof Inet4Address);
            }
            int least = PAYLOAD_BYTES_MAX;
            for (NetworkInterface link : NetworkInterface.networkInterfaces().toList()) {
                if (link.isUp() && !link.isLoopback()) {
                    least = Math.min(least, payloadMtuOfLink(link));
                }
            }
            return least;
        } catch (SocketException e) {
            return payloadMtu(ETHERNET_MTU, false);
        }
    }

    /** Links without an address carry nothing of ours; IPv6 counts where it is routable. */
    private static int payloadMtuOfLink(NetworkInterface link) {
        int least = PAYLOAD_BYTES_MAX;
        for (InetAddress address : link.inetAddresses().toList()) {
            boolean ipv4 = address instanceof Inet4Address;
            if (ipv4 || !address.isLinkLocalAddress()) {
                least = Math.min(least, payloadMtu(mtuOf(link), ipv4));
            }
        }
        return least;
    }

    /**
     * The interface over which the system would send to {@code target}; null when it cannot be
     * told.
     *
     * @throws NetSetupException when there is no route
     */
    static @Nullable NetworkInterface interfaceTowards(InetAddress target) {
        try {
            return linkOf(sourceTowards(target));
        } catch (SocketException e) {
            return null;
        }
    }

    /**
     * The own address that the route to {@code target} gives a sender.
     *
     * @throws NetSetupException when there is no route
     */
    static InetAddress sourceTowards(InetAddress target) {
        try (DatagramChannel probe = DatagramChannel.open()) {
            probe.connect(new InetSocketAddress(target, DISCARD_PORT));
            return ((InetSocketAddress) probe.getLocalAddress()).getAddress();
        } catch (IOException e) {
            throw new NetSetupException(
                    "no route to "
                            + target.getHostAddress()
                            + " ("
                            + e.getMessage()
                            + "): check the address and the routes of this machine",
                    e);
        }
    }

    /** Of loopback Linux has all of 127/8, and lists one. */
    private static @Nullable NetworkInterface linkOf(InetAddress local) throws SocketException {
        return NetworkInterface.getByInetAddress(
                local.isLoopbackAddress() ? InetAddress.getLoopbackAddress() : local);
    }

    private static int mtuOf(NetworkInterface link) {
        try {
            int mtu = link.getMTU();
            return mtu > 0 ? mtu : ETHERNET_MTU;
        } catch (SocketException e) {
            return ETHERNET_MTU;
        }
    }

    private static String interfaceNames() {
        try {
            List<String> names = new ArrayList<>();
            for (NetworkInterface link : NetworkInterface.networkInterfaces().toList()) {
                if (link.isUp()) {
                    names.add(link.getName());
                }
            }
            return String.join(", ", names);
        } catch (SocketException e) {
            return "unknown";
        }
    }
}
