package dev.metaroce.net;

import java.net.InetSocketAddress;

/** Options of ports for tests: every feature on. */
final class TestPorts {
    private TestPorts() {}

    static PortOptions options(InetSocketAddress bind, int routes, int bufferBytes) {
        return new PortOptions(
                bind.getAddress(),
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
                null, 0, routes, bufferBytes, SocketKind.AUTO, true, true, true, 0, true);
    }

    /** The same without any offload and without congestion marks. */
    static PortOptions plain(PortOptions o) {
        return new PortOptions(
                o.bind(),
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
