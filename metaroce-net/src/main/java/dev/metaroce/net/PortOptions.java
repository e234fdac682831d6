package dev.metaroce.net;

import java.net.InetAddress;
import java.util.List;

/**
 * How to open the sockets of a device.
 *
 * @param transport for which protocol
 * @param planes the addresses to bind, all of one family, each with sockets of its own; empty for
 *     one set of sockets on all addresses, IPv4 and IPv6
 * @param udpPort of the device's own socket of each plane, 0..65535; 0 takes any free one
 * @param routes path sockets of each plane beside the device's own, 0..1024
 * @param bufferBytes size asked for each socket buffer
 * @param kind by which means
 * @param gso let the kernel cut large buffers into datagrams (UDP_SEGMENT); Linux sockets only
 * @param gro take datagrams that the kernel merged (UDP_GRO); Linux sockets only
 * @param ecn mark packets ECN-capable and read congestion marks; Linux sockets only
 * @param dscp differentiated services code point of what is sent, 0..63
 * @param checksums false leaves the CRC of packets out on sending and unchecked on receiving: for
 *     measurements of its cost, between two ends that both do so
 */
record PortOptions(
        Transport transport,
        List<InetAddress> planes,
        int udpPort,
        int routes,
        int bufferBytes,
        SocketKind kind,
        boolean gso,
        boolean gro,
        boolean ecn,
        int dscp,
        boolean checksums) {}
