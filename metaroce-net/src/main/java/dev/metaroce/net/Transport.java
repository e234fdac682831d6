package dev.metaroce.net;

import java.util.concurrent.ThreadLocalRandom;

/** What a device speaks on the wire; peers must speak the same. */
public enum Transport {
    /** The protocol of docs/protocol.md. */
    METAROCE(Addresses.DEFAULT_PORT),

    /**
     * RoCEv2 with reliable connections, as docs/rocev2.md describes it. The checksum of its packets
     * covers addresses and ports: a device is bound to one address or several, never to all.
     */
    ROCE_V2(Addresses.ROCE_PORT);

    /** How often another port is tried for a path socket when the one chosen is in use. */
    static final int PATH_PORT_TRIES = 64;

    /** RoCEv2 sends from the dynamic ports (RFC 6335), so that the network sees many flows. */
    private static final int ROCE_PATH_PORT_MIN = 0xC000;

    private static final int ROCE_PATH_PORTS = 0x4000;

    private final int defaultPort;

    Transport(int defaultPort) {
        this.defaultPort = defaultPort;
    }

    /** The UDP port of a device when none is given. */
    public int defaultPort() {
        return defaultPort;
    }

    /**
     * A port to try for a path socket; 0 for any that is free.
     *
     * @param first that of the same route of the first plane, 0 on the first plane itself: a RoCEv2
     *     device has the same on all
     */
    int pathPort(int first) {
        if (this == METAROCE) {
            return 0;
        }
        if (first != 0) {
            return first;
        }
        return ROCE_PATH_PORT_MIN + ThreadLocalRandom.current().nextInt(ROCE_PATH_PORTS);
    }

    /**
     * True when the kernel may cut large buffers into datagrams. It counts up the identification of
     * their IPv4 headers, which the checksum of RoCEv2 covers and the engine takes for 0.
     */
    boolean allowsSegmentation(boolean ipv6) {
        return this == METAROCE || ipv6;
    }
}
