package dev.metaroce.net;

import dev.metaroce.wire.roce.RoceUdp;

import java.net.InetSocketAddress;

/** Addresses of this machine that no other process of it uses. */
final class OwnLoopback {
    private OwnLoopback() {}

    /** A loopback address of this process alone, since UDP port 4791 is there once: 0 or 1. */
    static String host(int which) {
        long pid = ProcessHandle.current().pid();
        return "127.%d.%d.%d"
                .formatted(64 + (pid >> 15 & 0x7F), pid >> 7 & 0xFF, (pid & 0x7F) * 2 + which);
    }

    /** Where a device of this process may be: 0 or 1. */
    static InetSocketAddress free(Transport transport, int which) {
        return transport == Transport.ROCE_V2
                ? new InetSocketAddress(host(which), RoceUdp.PORT)
                : new InetSocketAddress("127.0.0.1", 0);
    }
}
