package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The sockets of a {@link LinuxPort}, opened, bound and set up, and which features they accepted.
 * Immutable.
 */
final class LinuxSockets {
    /** Descriptors by plane and route: the device's own socket, then the path sockets. */
    final int[] fds;

    /** UDP port of each. */
    final int[] ports;

    /** An eventfd for {@link Port#wakeup}. */
    final int wakeFd;

    final boolean ipv6;

    /** Sockets per plane. */
    final int stride;

    /** Address of the device's own socket of each plane. */
    final List<InetSocketAddress> localAddresses;

    final int receiveBufferBytes;
    final int sendBufferBytes;
    final boolean gso;
    final boolean gro;
    final boolean ecn;
    final List<String> warnings;

    private LinuxSockets(Opening from, int[] ports) {
        Libc libc = from.libc;
        PortOptions options = from.options;
        this.ports = ports;
        fds = from.fds.stream().mapToInt(Integer::intValue).toArray();
        wakeFd = from.wakeFd;
        ipv6 = from.ipv6;
        stride = options.routes() + 1;
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int plane = 0; plane < from.planes.size(); plane++) {
            addresses.add(new InetSocketAddress(from.planes.get(plane), ports[plane * stride]));
        }
        localAddresses = List.copyOf(addresses);
        gso =
                options.gso()
                        && options.transport().allowsSegmentation(ipv6)
                        && from.all(from::acceptsSegments, "UDP_SEGMENT");
        gro = options.gro() && from.all(from::mergesDatagrams, "UDP_GRO");
        ecn = options.ecn() && from.all(from::showsMarks, "IP_RECVTOS");
        if (!from.all(from::forbidsFragments, "")) {
            from.warnings.add(
                    "this system cannot forbid IP fragments: a loss costs more than one packet");
        }
        if (options.transport() == Transport.ROCE_V2 && ipv6) {
            from.all(from::takesNoChecksum, "UDP_NO_CHECK6_RX");
        }
        for (int fd : fds) {
            from.trafficClass(fd);
            libc.setsockopt(fd, Libc.SOL_SOCKET, Libc.SO_SNDBUF, options.bufferBytes());
        }
        for (int own = 0; own < fds.length; own += stride) {
            libc.setsockopt(fds[own], Libc.SOL_SOCKET, Libc.SO_RCVBUF, options.bufferBytes());
        }
        receiveBufferBytes = bufferBytes(libc, Libc.SO_RCVBUF);
        sendBufferBytes = bufferBytes(libc, Libc.SO_SNDBUF);
        SocketTexts.warnIfSmall(from.warnings, receiveBufferBytes, sendBufferBytes);
        warnings = from.warnings;
    }

    /** As socket(7) says, the kernel doubles the value that was set, for its own bookkeeping. */
    private int bufferBytes(Libc libc, int option) {
        return libc.getsockopt(fds[0], Libc.SOL_SOCKET, option) / 2;
    }

    /**
     * Opens the sockets; when one fails, closes those opened before.
     *
     * @throws NetSetupException when an address cannot be bound
     */
    static LinuxSockets open(PortOptions options, Libc libc) {
        return new Opening(options, libc).open();
    }

    /** The work of opening, with what is open so far. */
    private static final class Opening {
        private final PortOptions options;
        private final Libc libc;
        private final List<Integer> fds = new ArrayList<>();
        private final List<String> warnings = new ArrayList<>();
        private List<InetAddress> planes;
        private boolean ipv6;
        private int wakeFd = -1;

        Opening(PortOptions options, Libc libc) {
            this.options = options;
            this.libc = libc;
            planes = options.planes().isEmpty() ? List.of(anyAddress(true)) : options.planes();
            ipv6 = planes.getFirst() instanceof Inet6Address;
        }

        LinuxSockets open() {
            int stride = options.routes() + 1;
            int[] ports = new int[planes.size() * stride];
            for (int i = 0; i < ports.length; i++) {
                int fd = newSocket(i);
                InetAddress address = planes.get(i / stride);
                if (i % stride != 0) {
                    ports[i] = bindPathSocket(fd, address, i < stride ? 0 : ports[i % stride]);
                } else {
                    // All planes have the same port, so that a peer needs to know but one.
                    int port = i == 0 ? options.udpPort() : ports[0];
                    ports[i] = expectPort(bindSocket(fd, address, port), address, port);
                }
            }
            wakeFd = libc.eventfd();
            if (wakeFd < 0) {
                throw failed(planes.getFirst(), options.udpPort(), wakeFd);
            }
            return new LinuxSockets(this, ports);
        }

        /** The first socket decides for IPv4 where a machine has no IPv6 and nothing was asked. */
        private int newSocket(int index) {
            int fd = libc.udpSocket(ipv6 ? Libc.AF_INET6 : Libc.AF_INET);
            if (fd == -Libc.EAFNOSUPPORT && index == 0 && options.planes().isEmpty()) {
                ipv6 = false;
                planes = List.of(anyAddress(false));
                fd = libc.udpSocket(Libc.AF_INET);
            }
            if (fd < 0) {
                fds.add(-1);
                throw failed(planes.getFirst(), options.udpPort(), fd);
            }
            fds.add(fd);
            return fd;
        }

        private int bindPathSocket(int fd, InetAddress address, int first) {
            int port = options.transport().pathPort(first);
            int result = bindSocket(fd, address, port);
            for (int i = 1; i < Transport.PATH_PORT_TRIES && result == -Libc.EADDRINUSE; i++) {
                port = options.transport().pathPort(first);
                result = bindSocket(fd, address, port);
            }
            return expectPort(result, address, port);
        }

        /** The port that a socket was bound to. */
        private int expectPort(int result, InetAddress address, int port) {
            if (result < 0) {
                throw failed(address, port, result);
            }
            return result;
        }

        /** The port, or the negative error number. */
        private int bindSocket(int fd, InetAddress address, int port) {
            if (ipv6) {
                libc.setsockopt(fd, Libc.SOL_IPV6, Libc.IPV6_V6ONLY, 0);
            }
            MessageArray name = new MessageArray(1, ipv6, 0);
            NetAddress wanted = Addresses.toNetAddress(new InetSocketAddress(address, port));
            int result = libc.bind(fd, name.nameAddress(0), name.name(0, wanted));
            if (result >= 0) {
                result = libc.getsockname(fd, name.nameAddress(0), name.nameBytesAddress(0));
            }
            return result < 0 ? result : name.port(0);
        }

        /** Closes what was opened: the next look at the system needs a file itself. */
        private NetSetupException failed(InetAddress address, int port, int result) {
            closeAll();
            int wanted = planes.size() * (options.routes() + 1) + 1;
            return new NetSetupException(
                    SocketTexts.cannotBind(
                            new InetSocketAddress(address, port),
                            fds.size(),
                            wanted,
                            libc.text(-result)));
        }

        /** A feature counts when every socket accepts it; {@code option} names it in a warning. */
        private boolean all(IntPredicate feature, String option) {
            for (int fd : fds) {
                if (!feature.test(fd)) {
                    if (!option.isEmpty()) {
                        warnings.add("this kernel refuses " + option + ": done without it");
                    }
                    return false;
                }
            }
            return true;
        }

        private boolean acceptsSegments(int fd) {
            return libc.getsockopt(fd, Libc.SOL_UDP, Libc.UDP_SEGMENT) >= 0;
        }

        private boolean mergesDatagrams(int fd) {
            return libc.setsockopt(fd, Libc.SOL_UDP, Libc.UDP_GRO, 1) >= 0;
        }

        /** RFC 6935: tunnels over IPv6 may leave the UDP checksum out, and peers do. */
        private boolean takesNoChecksum(int fd) {
            return libc.setsockopt(fd, Libc.SOL_UDP, Libc.UDP_NO_CHECK6_RX, 1) >= 0;
        }

        private boolean showsMarks(int fd) {
            return libc.setsockopt(fd, Libc.SOL_IP, Libc.IP_RECVTOS, 1) >= 0
                    && (!ipv6 || libc.setsockopt(fd, Libc.SOL_IPV6, Libc.IPV6_RECVTCLASS, 1) >= 0);
        }

        private boolean forbidsFragments(int fd) {
            int mode = Libc.PMTUDISC_DO;
            return libc.setsockopt(fd, Libc.SOL_IP, Libc.IP_MTU_DISCOVER, mode) >= 0
                    && (!ipv6
                            || libc.setsockopt(fd, Libc.SOL_IPV6, Libc.IPV6_MTU_DISCOVER, mode)
                                    >= 0);
        }

        private void trafficClass(int fd) {
            if (options.dscp() == 0) {
                return;
            }
            int value = options.dscp() << 2;
            int result = libc.setsockopt(fd, Libc.SOL_IP, Libc.IP_TOS, value);
            if (result >= 0 && ipv6) {
                result = libc.setsockopt(fd, Libc.SOL_IPV6, Libc.IPV6_TCLASS, value);
            }
            if (result < 0 && fd == fds.getFirst()) {
                warnings.add(
                        "DSCP " + options.dscp() + " refused by the system: " + libc.text(-result));
            }
        }

        void closeAll() {
            for (int fd : fds) {
                libc.close(fd);
            }
        }

        private static InetAddress anyAddress(boolean ipv6) {
            try {
                return InetAddress.getByAddress(new byte[ipv6 ? 16 : 4]);
            } catch (UnknownHostException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
