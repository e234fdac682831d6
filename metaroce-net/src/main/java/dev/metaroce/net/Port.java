package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;
import java.util.List;

/**
 * UDP sockets for one engine: the device's own socket (route 0), to which peers send, and path
 * sockets (routes 1..n) on ports of their own, from which the network may pick different ways. With
 * several planes, that is local addresses, each has such a set; {@link NetAddress#plane} tells from
 * which one a peer is reached.
 *
 * <p>Owner: one thread calls {@link #receive}, {@link #send} and {@link #await}. Any thread may
 * call {@link #wakeup}, {@link #stats}, {@link #close} and the queries.
 */
sealed interface Port extends AutoCloseable permits NioPort, LinuxPort {
    /** What socket buffers are asked for: some milliseconds of a 10 Gb/s link. */
    int WANTED_BUFFER_BYTES = 4 << 20;

    /**
     * Opens sockets of the kind asked for.
     *
     * @throws NetSetupException when an address cannot be bound, or when {@link SocketKind#LINUX}
     *     was asked for and is not possible here
     */
    static Port open(PortOptions options) {
        return switch (options.kind()) {
            case NIO -> NioPort.open(options, List.of());
            case LINUX -> {
                String obstacle = LinuxPort.obstacle();
                if (!obstacle.isEmpty()) {
                    throw new NetSetupException("Linux sockets are not possible: " + obstacle);
                }
                yield LinuxPort.open(options, new NativeLibc());
            }
            case AUTO -> {
                String obstacle = LinuxPort.obstacle();
                yield obstacle.isEmpty()
                        ? LinuxPort.open(options, new NativeLibc())
                        : NioPort.open(
                                options, List.of("java.nio sockets, slower, no ECN: " + obstacle));
            }
        };
    }

    /**
     * Address and port of the device's socket of each plane; the wildcard address if it was bound
     * to that.
     */
    List<InetSocketAddress> localAddresses();

    /**
     * UDP source port of a route.
     *
     * @param plane index in {@link #localAddresses}
     * @param route 0 for the device's own socket, 1.. for path sockets
     */
    int routePort(int plane, int route);

    /** One line each for what this machine grants less of than wanted. */
    List<String> warnings();

    /** What the sockets do now. */
    SocketInfo info();

    /** True when batches may leave payload where it is. */
    boolean gathers();

    /** False after {@link #close}. */
    boolean isOpen();

    /**
     * Hands the waiting datagrams to {@code sink}, without blocking. Datagrams without bytes are
     * handed on too. The path sockets are looked at now and then, or when {@link #await} told that
     * something is there.
     *
     * @param datagramsMax no more system calls are made for the device's socket once so many
     *     datagrams were handed over
     * @return datagrams handed over
     */
    int receive(DatagramSink sink, int datagramsMax);

    /**
     * Sends every packet of the batch as one datagram, each from the socket of its route. A packet
     * that cannot be sent is dropped and counted, as if the network had lost it.
     *
     * @return packets given to the system
     */
    int send(TxBatch batch);

    /**
     * Waits for a datagram on any socket, a {@link #wakeup}, or the end of the time, which may come
     * a millisecond late.
     *
     * @param timeoutNs nanoseconds; 0 only looks
     * @return true when a datagram may be there
     */
    boolean await(long timeoutNs);

    /** Any thread: ends an {@link #await} that waits now, or the next one. */
    void wakeup();

    /** The last datagram since the call before that the system refused to send; null for none. */
    @Nullable Unsent takeUnsent();

    /** Any thread: counts since the port was opened. */
    PortStats stats();

    /** Any thread: closes all sockets; a second call does nothing. */
    @Override
    void close();
}
