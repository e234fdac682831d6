package dev.metaroce.net;

import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * One client socket a {@link FaultRelay} knows, and the socket that stands for it towards the
 * target. Owned by the relay's thread.
 */
final class RelayClient {
    final int index;
    final InetSocketAddress address;
    final DatagramChannel upstream;

    /** Packets waiting to be passed by others, per direction: see {@link RelayLane}. */
    final List<StoredPacket> swapsToTarget = new ArrayList<>();

    final List<StoredPacket> swapsToClient = new ArrayList<>();
    boolean blackHole;
    long lastSeenNs;

    RelayClient(int index, InetSocketAddress address, DatagramChannel upstream) {
        this.index = index;
        this.address = address;
        this.upstream = upstream;
    }
}
