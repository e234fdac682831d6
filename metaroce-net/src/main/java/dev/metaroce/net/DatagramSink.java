package dev.metaroce.net;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/**
 * Gets the datagrams a port received, on the thread that called {@code receive}. {@code
 * Engine::onDatagram} is one.
 */
@FunctionalInterface
public interface DatagramSink {
    /**
     * The bytes are valid only during the call.
     *
     * @param nowNs time of reading, {@code System.nanoTime()}; a few datagrams may share one
     * @param offset first byte of the datagram in {@code memory}
     * @param bytes length of the datagram, 0..65,507
     * @param ecn the ECN field that the datagram came with
     */
    void onDatagram(
            long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, Ecn ecn);
}
