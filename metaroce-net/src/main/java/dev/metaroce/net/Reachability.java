package dev.metaroce.net;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.util.concurrent.CompletableFuture;

/**
 * Asks the system why nobody answers at an address. Silence has several reasons, and a socket that
 * talks to many peers is not told which; one that is connected to the address is.
 */
public final class Reachability {
    /** Hosts complain of closed ports once a second only, to each that asks. */
    private static final int TRIES = 6;

    private static final int TRY_MS = 250;

    private Reachability() {}

    /** {@link #whySilent} in the background. */
    public static CompletableFuture<String> ask(InetSocketAddress target) {
        CompletableFuture<String> answer = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> answer.complete(whySilent(target)));
        return answer;
    }

    /**
     * Sends datagrams that every endpoint drops, for 1.5 s at most.
     *
     * @return what is known and what to do, without a full stop
     */
    public static String whySilent(InetSocketAddress target) {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.setSoTimeout(TRY_MS);
            socket.connect(target);
            for (int i = 0; i < TRIES; i++) {
                socket.send(new DatagramPacket(new byte[1], 1));
                if (isAnswered(socket)) {
                    return "something else answers at that port: give the right one";
                }
            }
            return nothing(target);
        } catch (PortUnreachableException e) {
            return "the host is up, but nothing listens on its UDP port " + target.getPort();
        } catch (IOException e) {
            String reason = e.getMessage();
            return (reason == null ? e.toString() : reason)
                    + ": check the address and the routes of this host";
        }
    }

    private static boolean isAnswered(DatagramSocket socket) throws IOException {
        try {
            socket.receive(new DatagramPacket(new byte[1], 1));
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        }
    }

    /** What is known as long as the system says nothing. */
    public static String nothing(InetSocketAddress target) {
        return "nothing comes back from there: see whether the host is up, and whether firewalls on"
                + " the way let UDP port "
                + target.getPort()
                + " through";
    }
}
