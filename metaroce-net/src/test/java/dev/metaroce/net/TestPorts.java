package dev.metaroce.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Options of ports for tests: every feature on. */
final class TestPorts {
    private TestPorts() {}

    static PortOptions options(InetSocketAddress bind, int routes, int bufferBytes) {
        return new PortOptions(
                Transport.METAROCE,
                List.of(bind.getAddress()),
                bind.getPort(),
                routes,
                bufferBytes,
                SocketKind.AUTO,
                true,
                true,
                true,
                0,
                true);
    }

    static PortOptions wildcard(int routes, int bufferBytes) {
        return new PortOptions(
                Transport.METAROCE,
                List.of(),
                0,
                routes,
                bufferBytes,
                SocketKind.AUTO,
                true,
                true,
                true,
                0,
                true);
    }

    static PortOptions planes(List<InetAddress> planes, int routes, int bufferBytes) {
        return new PortOptions(
                Transport.METAROCE,
                planes,
                0,
                routes,
                bufferBytes,
                SocketKind.AUTO,
                true,
                true,
                true,
                0,
                true);
    }

    /** The same without any offload and without congestion marks. */
    static PortOptions plain(PortOptions o) {
        return new PortOptions(
                o.transport(),
                o.planes(),
                o.udpPort(),
                o.routes(),
                o.bufferBytes(),
                o.kind(),
                false,
                false,
                false,
                o.dscp(),
                o.checksums());
    }

    /** One plane of RoCEv2 on any free port. */
    static PortOptions roce(InetAddress plane, int routes) {
        return new PortOptions(
                Transport.ROCE_V2,
                List.of(plane),
                0,
                routes,
                1 << 20,
                SocketKind.AUTO,
                true,
                true,
                true,
                0,
                true);
    }
}
