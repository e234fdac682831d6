package dev.metaroce.verbs;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.Counters;
import dev.metaroce.ring.Reservation;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.MetaRoceProtocol;
import dev.metaroce.transport.Stream;
import dev.metaroce.transport.StreamSettings;
import dev.metaroce.transport.TransportConnection;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * An RDMA endpoint: memory registration, connections, queue pairs. Obtained from {@code
 * UdpDevice.open} (real sockets) or from a simulator.
 *
 * <p>Two drive modes. With a driver thread, everything runs by itself. In inline mode nothing
 * happens unless the application calls {@link #progress()}, on one thread that is then the engine's
 * thread; this saves the hand-over between threads.
 */
public final class RdmaDevice implements AutoCloseable {
    private final Engine engine;
    private final Driver driver;
    private final AtomicInteger domains = new AtomicInteger();

    /** For drivers; applications open a device through their port. */
    public RdmaDevice(Engine engine, Driver driver) {
        this.engine = engine;
        this.driver = driver;
    }

    public ProtectionDomain allocProtectionDomain() {
        return new ProtectionDomain(domains.getAndIncrement(), engine.regions());
    }

    /**
     * @param capacity completions it can hold: the sum of the depths of its queue pairs
     */
    public CompletionQueue createCompletionQueue(int capacity) {
        return new CompletionQueue(capacity);
    }

    /**
     * @param domain of the queue pairs that are to use it
     * @param depth receives posted and not polled, 1..32768
     * @param maxSge pieces of memory of a receive, 1..16
     * @param limit as for {@link SharedReceiveQueue#arm}; 0 for none
     */
    public SharedReceiveQueue createSharedReceiveQueue(
            ProtectionDomain domain, int depth, int maxSge, int limit) {
        SharedReceiveQueue made = new SharedReceiveQueue(this, domain, depth, maxSge);
        made.arm(limit);
        return made;
    }

    /**
     * Starts to connect; returns at once. Create queue pairs right away if you like: work may be
     * posted while the connection is CONNECTING.
     *
     * @param serviceId number of the service at the target
     * @param privateData 0..64 bytes for the target's handler
     */
    public Connection connect(NetAddress target, long serviceId, byte[] privateData) {
        TransportConnection transport = engine.dial(target, serviceId, privateData);
        Connection connection = new Connection(this, transport);
        driver.wake();
        return connection;
    }

    /**
     * Offers a service. The handler is called on the engine's thread for each new connection; when
     * it throws, the connection is refused and the driver reports the failure.
     */
    public void listen(long serviceId, ConnectionHandler handler) {
        engine.listen(
                serviceId,
                (transport, privateData) -> {
                    try {
                        return checked(
                                handler.onRequest(new Connection(this, transport), privateData));
                    } catch (RuntimeException e) {
                        // A stranger's request must not stop the device, whatever the handler does.
                        driver.handlerFailed(e);
                        return null;
                    }
                });
        driver.wake();
    }

    private static byte @Nullable [] checked(byte @Nullable [] answer) {
        if (answer != null && answer.length > ControlMessage.MAX_PRIVATE_BYTES) {
            throw new IllegalArgumentException(
                    "private data of "
                            + answer.length
                            + " bytes: at most "
                            + ControlMessage.MAX_PRIVATE_BYTES);
        }
        return answer;
    }

    /** Waits until the connection is no longer CONNECTING; true when it is OPEN. */
    public boolean awaitOpen(Connection connection, long timeoutNs) {
        driver.await(() -> connection.state() != ConnectionState.CONNECTING, timeoutNs);
        return connection.state() == ConnectionState.OPEN;
    }

    /** Waits until the connection is CLOSED or FAILED; false when the time ran out. */
    public boolean awaitClosed(Connection connection, long timeoutNs) {
        return driver.await(
                () ->
                        connection.state() == ConnectionState.CLOSED
                                || connection.state() == ConnectionState.FAILED,
                timeoutNs);
    }

    /** Inline mode: one bounded turn of the engine. Returns the packets moved. */
    public int progress() {
        return driver.progress();
    }

    /**
     * Inline mode: to be called when {@link #progress} returned 0 and the application has nothing
     * to do either. Spins, yields or sleeps until a packet or a deadline, as the device was opened
     * to; work that this thread posts meanwhile would wait, work of other threads ends the sleep.
     *
     * @param maxNs longest sleep in nanoseconds
     */
    public void idle(long maxNs) {
        driver.idle(maxNs);
    }

    public Counters counters() {
        return engine.counters();
    }

    public DeviceLimits limits() {
        return engine.limits();
    }

    /** Receive contexts granted now; any thread, may lag by a turn. */
    public int contextsInUse() {
        return engine.contextsInUse();
    }

    /**
     * The most bytes that all tables that hold receive contexts take; constant, whatever the number
     * of peers. They are allocated as contexts come into use.
     */
    public long contextTableBytes() {
        return engine.contextTableBytes();
    }

    /** Bytes of one receive context in use, by profile and paths of its lease. */
    public static int contextBytes(Profile profile, int paths) {
        return MetaRoceProtocol.contextBytes(profile, paths);
    }

    /** Finishes nothing: stops the driver and frees sockets. Close connections first. */
    @Override
    public void close() {
        driver.close();
    }

    /** Runs something on the engine's thread. */
    void run(Runnable command) {
        engine.submit(command);
        driver.wake();
    }

    void ring(Stream stream) {
        if (engine.doorbells().ring(stream.bell())) {
            driver.wake();
        }
    }

    QueuePair createQueuePair(
            Connection connection, ProtectionDomain domain, QueuePairOptions options) {
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        if (shared != null && shared.domain() != domain) {
            throw new IllegalArgumentException(
                    "the shared receive queue is of another protection domain than the queue pair");
        }
        CompletionQueue receiveQueue = options.receiveQueue();
        Reservation send = options.sendQueue().reserve(options.sendDepth());
        Stream stream;
        try {
            Reservation receive =
                    shared == null
                            ? receiveQueue.reserve(options.receiveDepth())
                            : shared.roomIn(receiveQueue);
            stream = connection.transport().addStream(settings(domain, options, send, receive));
        } catch (RuntimeException e) {
            options.sendQueue().cancel(send);
            throw e;
        }
        QueuePair pair = new QueuePair(this, connection, stream);
        stream.attach(pair);
        return pair;
    }

    private static StreamSettings settings(
            ProtectionDomain domain,
            QueuePairOptions options,
            Reservation send,
            Reservation receive) {
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        return new StreamSettings(
                domain.id(),
                send,
                receive,
                options.sendDepth(),
                options.receiveDepth(),
                options.maxSendSge(),
                options.maxReceiveSge(),
                options.maxInline(),
                options.signalAll(),
                options.rnrRetry(),
                options.minRnrTimerUs(),
                shared == null ? null : shared.receives());
    }

    void close(TransportConnection transport) {
        engine.close(transport);
        driver.wake();
    }
}
