package dev.metaroce.tools.link;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.NetSetupException;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.verbs.RdmaDevice;

import java.net.Inet4Address;
import java.net.InetSocketAddress;
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

    private Endpoint(UdpDevice device) {
        this.device = device;
    }

    /** Opens the device; its address, port and limits are in the options. */
    public static Endpoint open(DeviceOptions options) {
        try {
            return new Endpoint(UdpDevice.open(options));
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

    /** "127.0.0.1:18515" or "[::1]:18515". */
    public static String text(InetSocketAddress address) {
        return Addresses.toNetAddress(address).toString();
    }

    public RdmaDevice rdma() {
        return device.rdma();
    }

    public InetSocketAddress localAddress() {
        return device.localAddress();
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
