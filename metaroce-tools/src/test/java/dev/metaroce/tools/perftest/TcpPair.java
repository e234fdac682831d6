package dev.metaroce.tools.perftest;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Two ends of a TCP connection over loopback, for two threads. */
final class TcpPair implements AutoCloseable {
    private static final int TRIES = 100;

    private final CompletableFuture<TcpTalk> accepted = new CompletableFuture<>();
    private final TcpTalk client;

    TcpPair() {
        InetSocketAddress at = freePort();
        Thread.ofPlatform()
                .start(
                        () -> {
                            try {
                                accepted.complete(TcpTalk.accept(at, Thread::yield, () -> false));
                            } catch (RuntimeException e) {
                                accepted.completeExceptionally(e);
                            }
                        });
        client = TcpTalk.connect(at, TimeUnit.SECONDS.toNanos(30), Thread::yield);
    }

    private static InetSocketAddress freePort() {
        for (int i = 0; i < TRIES; i++) {
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                return new InetSocketAddress(socket.getInetAddress(), socket.getLocalPort());
            } catch (IOException e) {
                // None free now.
            }
        }
        throw new AssertionError("no free TCP port");
    }

    TcpTalk client() {
        return client;
    }

    TcpTalk server() {
        return accepted.join();
    }

    @Override
    public void close() {
        client.close();
        if (accepted.isDone()) {
            accepted.join().close();
        }
    }
}
