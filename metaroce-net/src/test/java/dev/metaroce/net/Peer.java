package dev.metaroce.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;

/** A plain UDP socket on loopback that remembers what it got. */
final class Peer implements AutoCloseable {
    /** A datagram and who sent it. */
    record Got(byte[] bytes, InetSocketAddress from) {
        /** The number at its start; see {@link #numbered}. */
        int number() {
            return ByteBuffer.wrap(bytes).getInt();
        }
    }

    final List<Got> got = new ArrayList<>();
    private final DatagramChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(65_536);

    Peer() {
        this(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    Peer(InetSocketAddress bind) {
        try {
            channel = DatagramChannel.open();
            channel.setOption(StandardSocketOptions.SO_RCVBUF, 4 << 20);
            channel.bind(bind);
            channel.configureBlocking(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    InetSocketAddress address() {
        try {
            return (InetSocketAddress) channel.getLocalAddress();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A datagram of {@code bytes} (4 or more) that starts with a number. */
    static byte[] numbered(int number, int bytes) {
        return ByteBuffer.allocate(bytes).putInt(number).array();
    }

    void send(byte[] bytes, InetSocketAddress to) {
        try {
            while (channel.send(ByteBuffer.wrap(bytes), to) != bytes.length) {
                Thread.onSpinWait();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Takes what is there now. */
    Peer look() {
        try {
            buffer.clear();
            InetSocketAddress from = (InetSocketAddress) channel.receive(buffer);
            while (from != null) {
                byte[] bytes = new byte[buffer.flip().remaining()];
                buffer.get(bytes);
                got.add(new Got(bytes, from));
                from = (InetSocketAddress) channel.receive(buffer.clear());
            }
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until {@code count} datagrams arrived in all. */
    boolean has(int count) {
        return Until.holds(() -> look().got.size() >= count);
    }

    List<Integer> numbers() {
        return got.stream().map(Got::number).toList();
    }

    @Override
    public void close() {
        NioPort.closeQuietly(channel);
    }
}
