package dev.metaroce.rocev2;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.PathMtu;
import dev.metaroce.wire.roce.Psn24;

/**
 * One end of a queue pair, as the other end has to know it: what connection management, or an
 * application by other means, hands over.
 *
 * @param address where it is; the port means nothing, all packets go to UDP port 4791
 * @param qpn number of the queue pair, 24 bits
 * @param psn number of the first packet that this end sends, 24 bits
 * @param mtu path MTU, a valid {@link PathMtu}; the smaller of both ends is used
 * @param reads READs and atomics that this end serves at once, 0..255
 */
public record RoceConnect(NetAddress address, int qpn, int psn, int mtu, int reads) {
    public RoceConnect {
        range("qpn", qpn, 0, Psn24.MASK);
        range("psn", psn, 0, Psn24.MASK);
        range("reads", reads, 0, 255);
        if (!PathMtu.isValid(mtu)) {
            throw new IllegalArgumentException(
                    "RoceConnect: mtu " + mtu + " is not one of 256, 512, 1024, 2048, 4096");
        }
    }

    private static void range(String field, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    "RoceConnect: %s %d is not in %d..%d".formatted(field, value, min, max));
        }
    }
}
