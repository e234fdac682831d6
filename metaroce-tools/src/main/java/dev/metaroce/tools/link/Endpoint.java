package dev.metaroce.tools.link;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.net.NetSetupException;
import dev.metaroce.net.SocketInfo;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.verbs.RdmaDevice;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.List;

/** A device on a UDP port whose failures to open are one line for the user. */
public final class Endpoint implements AutoCloseable {
    /** Which addresses of a name count. */
    public enum Family {
        ANY,
        IPV4,
        IPV6;

        boolean accepts(InetSocketAddress address) {
            boolean ipv4 = address.getAddress() instanceof Inet4Address;
            return switch (this) {
                case ANY -> true;
                case IPV4 -> ipv4;
                case IPV6 -> !ipv4;
            };
        }
    }

    private final UdpDevice device;

    private final boolean inline;

    private Endpoint(UdpDevice device, boolean inline) {
        this.device = device;
        this.inline = inline;
    }

    /** Opens the device; its address, port and limits are in the options. */
    public static Endpoint open(DeviceOptions options) {
        try {
            boolean inline = options.driveMode() == DriveMode.INLINE;
            return new Endpoint(UdpDevice.open(options), inline);
        } catch (NetSetupException e) {
            throw ToolException.environment(String.valueOf(e.getMessage()));
        } catch (IllegalArgumentException e) {
            throw ToolException.usage(String.valueOf(e.getMessage()));
        }
    }

    /** All addresses of a host or host:port that belong to the family, in order of preference. */
    public static List<InetSocketAddress> resolve(String text, int port, Family family) {
        List<InetSocketAddress> all;
        try {
            all = Addresses.resolveAll(text, port);
        } catch (NetSetupException | IllegalArgumentException e) {
            throw ToolException.usage(String.valueOf(e.getMessage()));
        }
        List<InetSocketAddress> fitting = all.stream().filter(family::accepts).toList();
        if (fitting.isEmpty()) {
            throw ToolException.usage(
                    "host '%s' has no %s address: leave -4 and -6 out"
                            .formatted(text, family == Family.IPV4 ? "IPv4" : "IPv6"));
        }
        return fitting;
    }

    /** "127.0.0.1:18515" or "[::1]:18515"; the longest run of zeros is left out, as usual. */
    public static String text(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        String literal = host.getHostAddress();
        if (host instanceof Inet4Address) {
            return literal + ":" + address.getPort();
        }
        int percent = literal.indexOf('%');
        String zone = percent < 0 ? "" : literal.substring(percent);
        String groups = percent < 0 ? literal : literal.substring(0, percent);
        return "[" + shortened(groups) + zone + "]:" + address.getPort();
    }

    private static String shortened(String groups) {
        for (int zeros = 8; zeros >= 2; zeros--) {
            String run = "0" + ":0".repeat(zeros - 1);
            String padded = ":" + groups + ":";
            int at = padded.indexOf(":" + run + ":");
            if (at >= 0) {
                String before = padded.substring(0, at);
                String after = padded.substring(at + run.length() + 2);
                String both = before + "::" + after;
                int start = both.startsWith(":") && !both.startsWith("::") ? 1 : 0;
                int end = both.endsWith(":") && !both.endsWith("::") ? 1 : 0;
                return both.substring(start, both.length() - end);
            }
        }
        return groups;
    }

    /**
     * The device's address as the target sees it: for a device on the wildcard address, the source
     * that the route to the target gives it.
     */
    public InetSocketAddress localAddressTowards(InetSocketAddress target) {
        InetSocketAddress local = localAddress();
        if (!local.getAddress().isAnyLocalAddress()) {
            return local;
        }
        try (DatagramChannel probe = DatagramChannel.open()) {
            probe.connect(target);
            InetSocketAddress source = (InetSocketAddress) probe.getLocalAddress();
            return new InetSocketAddress(source.getAddress(), local.getPort());
        } catch (IOException e) {
            return local;
        }
    }

    /**
     * A loopback address of this process alone: two devices of RoCEv2 cannot share one.
     *
     * @param which 0 or 1
     */
    public static String ownLoopback(int which) {
        long pid = ProcessHandle.current().pid();
        return "127.%d.%d.%d"
                .formatted(64 + (pid >> 15 & 0x7F), pid >> 7 & 0xFF, (pid & 0x7F) * 2 + which);
    }

    /** The own address, without a port, for a sender to the target; of loopback, one of its own. */
    public static String sourceTowards(InetSocketAddress target) {
        String to = target.getAddress().getHostAddress();
        if (target.getAddress().isLoopbackAddress()
                && target.getAddress() instanceof Inet4Address) {
            return ownLoopback(0);
        }
        try (DatagramChannel probe = DatagramChannel.open()) {
            probe.connect(target);
            return ((InetSocketAddress) probe.getLocalAddress()).getAddress().getHostAddress();
        } catch (IOException e) {
            throw ToolException.environment("no route to %s: %s".formatted(to, e.getMessage()));
        }
    }

    public RdmaDevice rdma() {
        return device.rdma();
    }

    public InetSocketAddress localAddress() {
        return device.localAddress();
    }

    /** What a loop that polls this endpoint does when there is nothing, as its options say. */
    public Idle newIdle() {
        return inline ? new Idle(rdma()) : new Idle();
    }

    /** The sockets in use. */
    public SocketInfo sockets() {
        return device.sockets();
    }

    /** One line each for what this machine does not give the device. */
    public List<String> warnings() {
        return device.warnings();
    }

    @Override
    public void close() {
        device.close();
    }
}
