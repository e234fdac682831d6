package dev.metaroce.net;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import java.util.ArrayList;
import java.util.List;

/** Remembers what a port handed over. */
final class RecordingSink implements DatagramSink {
    final List<byte[]> datagrams = new ArrayList<>();
    final List<NetAddress> sources = new ArrayList<>();
    final List<Long> times = new ArrayList<>();
    int congestionMarks;

    @Override
    public void onDatagram(
            long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, Ecn ecn) {
        byte[] copy = new byte[bytes];
        memory.bytes().get(offset, copy);
        datagrams.add(copy);
        sources.add(source);
        times.add(nowNs);
        congestionMarks += ecn == Ecn.CE ? 1 : 0;
    }

    /** The numbers that start the datagrams, in order of arrival. */
    List<Integer> numbers() {
        return datagrams.stream().map(d -> java.nio.ByteBuffer.wrap(d).getInt()).toList();
    }
}
