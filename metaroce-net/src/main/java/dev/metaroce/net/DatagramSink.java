package dev.metaroce.net;

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
     * @param ce the datagram carried the ECN mark "congestion experienced"; false when the port
     *     cannot see marks
     */
    void onDatagram(
            long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, boolean ce);
}
