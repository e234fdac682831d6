package dev.metaroce.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Options of ports for tests: every feature on. */
final class TestPorts {
    private TestPorts() {}

    static PortOptions options(InetSocketAddress bind, int routes, int bufferBytes) {
        return new PortOptions(
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
                List.of(), 0, routes, bufferBytes, SocketKind.AUTO, true, true, true, 0, true);
    }

    static PortOptions planes(List<InetAddress> planes, int routes, int bufferBytes) {
        return new PortOptions(
                planes, 0, routes, bufferBytes, SocketKind.AUTO, true, true, true, 0, true);
    }

    /** The same without any offload and without congestion marks. */
    static PortOptions plain(PortOptions o) {
        return new PortOptions(
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
}
