package dev.metaroce.net;

/**
 * The sockets a device uses and what they do now.
 *
 * @param kind {@link SocketKind#NIO} or {@link SocketKind#LINUX}
 * @param gso the kernel cuts large buffers into datagrams
 * @param gro the kernel hands over merged datagrams
 * @param ecn packets are marked ECN-capable and congestion marks are read
 * @param receiveBufferBytes size of the receive buffer of the device's socket as the system reports
 *     it
 * @param sendBufferBytes the same of each send buffer
 */
public record SocketInfo(
        SocketKind kind,
        boolean gso,
        boolean gro,
        boolean ecn,
        int receiveBufferBytes,
        int sendBufferBytes) {
    /** What is asked for by default, for each of the two. */
    public static final int WANTED_BUFFER_BYTES = Port.WANTED_BUFFER_BYTES;

    /** One line for people. */
    public String text() {
        return switch (kind) {
            case AUTO, NIO -> "java.nio, one system call per datagram, no ECN";
            case LINUX ->
                    "Linux, GSO %s, GRO %s, ECN %s".formatted(onOff(gso), onOff(gro), onOff(ecn));
        };
    }

    private static String onOff(boolean on) {
        return on ? "on" : "off";
    }
}
