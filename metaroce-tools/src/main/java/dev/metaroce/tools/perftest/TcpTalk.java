package dev.metaroce.tools.perftest;

import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.function.BooleanSupplier;

/**
 * A TCP connection on which nothing blocks: while it waits, its owner goes on with what else there
 * is to do. One thread.
 */
public final class TcpTalk implements Talk, AutoCloseable {
    private final SocketChannel channel;
    private final Runnable meanwhile;
    private final String peer;

    private TcpTalk(SocketChannel channel, Runnable meanwhile) throws IOException {
        this.channel = channel;
        this.meanwhile = meanwhile;
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        peer = Endpoint.text((InetSocketAddress) channel.getRemoteAddress());
    }

    /**
     * Connects to a server that may not be there yet.
     *
     * @param timeoutNs how long to try, in nanoseconds
     * @param meanwhile what to do while waiting, again and again
     */
    public static TcpTalk connect(InetSocketAddress to, long timeoutNs, Runnable meanwhile) {
        long startNs = System.nanoTime();
        while (true) {
            try {
                return new TcpTalk(connected(to, startNs, timeoutNs, meanwhile), meanwhile);
            } catch (IOException e) {
                if (System.nanoTime() - startNs > timeoutNs) {
                    throw ToolException.failed(
                            "no perftest at TCP %s: %s"
                                    .formatted(Endpoint.text(to), e.getMessage()));
                }
                meanwhile.run();
            }
        }
    }

    private static SocketChannel connected(
            InetSocketAddress to, long startNs, long timeoutNs, Runnable meanwhile)
            throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            channel.configureBlocking(false);
            boolean there = channel.connect(to);
            while (!there) {
                if (System.nanoTime() - startNs > timeoutNs) {
                    throw new IOException("no answer");
                }
                meanwhile.run();
                there = channel.finishConnect();
            }
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Waits for one client.
     *
     * @param meanwhile what to do while waiting, again and again
     * @param stop true ends the wait
     * @throws ToolException when the address cannot be bound, or the wait was ended
     */
    public static TcpTalk accept(InetSocketAddress at, Runnable meanwhile, BooleanSupplier stop) {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.bind(at);
            server.configureBlocking(false);
            SocketChannel client = server.accept();
            while (client == null) {
                if (stop.getAsBoolean()) {
                    throw ToolException.failed("nobody came to TCP " + Endpoint.text(at));
                }
                meanwhile.run();
                client = server.accept();
            }
            return new TcpTalk(client, meanwhile);
        } catch (IOException e) {
            throw ToolException.environment(
                    "cannot listen on TCP %s: %s".formatted(Endpoint.text(at), e.getMessage()));
        }
    }

    @Override
    public void write(byte[] message) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(message);
            channel.write(bytes);
            while (bytes.hasRemaining()) {
                meanwhile.run();
                channel.write(bytes);
            }
        } catch (IOException e) {
            throw gone(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public byte[] read(int count) {
        try {
            ByteBuffer bytes = ByteBuffer.allocate(count);
            while (bytes.hasRemaining()) {
                int n = channel.read(bytes);
                if (n < 0) {
                    throw gone("it closed the connection");
                }
                if (n == 0) {
                    meanwhile.run();
                }
            }
            return bytes.array();
        } catch (IOException e) {
            throw gone(String.valueOf(e.getMessage()));
        }
    }

    private ToolException gone(@Nullable String why) {
        return ToolException.failed(
                "perftest at %s ended before the test was over: %s".formatted(peer, why));
    }

    @Override
    public String peer() {
        return peer;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // Nothing more is wanted of it.
        }
    }
}
