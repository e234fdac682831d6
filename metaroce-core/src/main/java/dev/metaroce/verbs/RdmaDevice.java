package dev.metaroce.verbs;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.Counters;
import dev.metaroce.memory.EngineGate;
import dev.metaroce.ring.Reservation;
import dev.metaroce.rocev2.RoceConnect;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.MetaRoceProtocol;
import dev.metaroce.transport.Offer;
import dev.metaroce.transport.ProtocolConnection;
import dev.metaroce.transport.ProtocolQueue;
import dev.metaroce.transport.QueueSlot;
import dev.metaroce.transport.StreamSettings;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.util.Objects;
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
    private final AsyncEvents events;
    private volatile boolean eventsWanted;
    private volatile boolean closed;
    private final AtomicInteger domains = new AtomicInteger();

    /** Settings of the queue pair made last. */
    private volatile @Nullable StreamSettings lastSettings;

    /** For drivers; applications open a device through their port. */
    public RdmaDevice(Engine engine, Driver driver) {
        this.engine = engine;
        this.driver = driver;
        events = new AsyncEvents(driver.newSignal(), driver::handlerFailed);
        engine.notices(this::raise);
    }

    public ProtectionDomain allocProtectionDomain() {
        requireOpen();
        return new ProtectionDomain(domains.getAndIncrement(), engine.regions());
    }

    /**
     * @param capacity completions it can hold: the sum of the depths of its queue pairs
     */
    public CompletionQueue createCompletionQueue(int capacity) {
        return new CompletionQueue(this, capacity, null, driver.newSignal());
    }

    /**
     * A completion queue that reports to a channel when it is armed.
     *
     * @param capacity completions it can hold: the sum of the depths of its queue pairs
     * @param channel a channel of this device
     * @throws IllegalArgumentException when the channel is another device's
     */
    public CompletionQueue createCompletionQueue(int capacity, CompletionChannel channel) {
        if (channel.device() != this) {
            throw new IllegalArgumentException(
                    "the completion channel belongs to another device: create one with this"
                            + " device");
        }
        return new CompletionQueue(this, capacity, channel, driver.newSignal());
    }

    /** A channel on which one thread can wait for several completion queues. */
    public CompletionChannel createCompletionChannel() {
        return new CompletionChannel(this, driver.newSignal());
    }

    /** Returns when the engine has seen all that this thread did before. */
    void awaitEngineTurn() {
        EngineGate gate = engine.regions().gate();
        gate.awaitQuiescent(gate.isInTurnOfCaller());
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
     * posted while the connection is CONNECTING. It fails when the peer does not answer, or denies
     * a context, for the give-up time of {@link DeviceLimits}; it may wait in the peer's line for
     * as long as that takes. With RoCEv2 it fails when the peer refuses, or does not answer 16
     * messages, which takes 23 s.
     *
     * @param serviceId number of the service at the target
     * @param privateData 0..64 bytes for the target's handler, 0..56 with RoCEv2
     */
    public Connection connect(NetAddress target, long serviceId, byte[] privateData) {
        return dial(target, serviceId, privateData, 0);
    }

    /**
     * Starts to connect, and fails when the connection is not open in time, whatever the peer
     * answers until then; refusals for want of a context or a service, and silence, are tried
     * again. The failure names what was seen meanwhile.
     *
     * @param serviceId number of the service at the target
     * @param privateData 0..64 bytes for the target's handler, 0..56 with RoCEv2
     * @param timeoutNs longest time to connect, 1 ms or more, in nanoseconds
     */
    public Connection connect(
            NetAddress target, long serviceId, byte[] privateData, long timeoutNs) {
        if (timeoutNs < 1_000_000) {
            throw new IllegalArgumentException(
                    "time to connect of " + timeoutNs + " ns: at least 1 ms, 1000000");
        }
        return dial(target, serviceId, privateData, Math.min(timeoutNs, Long.MAX_VALUE / 4));
    }

    private Connection dial(NetAddress target, long serviceId, byte[] privateData, long connectNs) {
        Objects.requireNonNull(target, "target");
        requirePrivateData(privateData);
        requireOpen();
        Connection connection =
                connectionOf(engine.dial(target, serviceId, privateData, connectNs));
        driver.wake();
        return connection;
    }

    /**
     * RoCEv2: a connection that sends no message to be made. Its queue pairs are connected one by
     * one: tell the other end {@link QueuePair#localEnd} by other means, and this one what the
     * other end says, with {@link QueuePair#connect}. It is open with the first of them.
     *
     * @throws IllegalStateException when the device speaks another protocol, or is closed
     */
    public Connection connectByHand() {
        requireOpen();
        return connectionOf(engine.roce().byHand());
    }

    /** Tells a queue pair where its other end is. */
    void connect(ProtocolQueue queue, RoceConnect other) {
        engine.connect(queue, other);
        driver.wake();
    }

    /**
     * Offers a service, in place of who offered it before. The handler is called on the engine's
     * thread for each request; when it throws, the request is rejected and the driver reports the
     * failure.
     */
    public void listen(long serviceId, ConnectionHandler handler) {
        Objects.requireNonNull(handler, "handler");
        requireOpen();
        engine.listen(serviceId, offer -> offer(offer, handler));
        driver.wake();
    }

    /**
     * Offers a service, in place of who offered it before, whose requests wait to be taken.
     *
     * @param backlog requests that may wait, 1..1024; the peers of others ask again
     */
    public Listener listen(long serviceId, int backlog) {
        if (backlog < 1 || backlog > 1024) {
            throw new IllegalArgumentException("backlog " + backlog + " is not in 1..1024");
        }
        Listener listener = new Listener(this, serviceId, backlog, driver.newSignal());
        listen(serviceId, listener::onRequest);
        return listener;
    }

    private void offer(Offer offer, ConnectionHandler handler) {
        ConnectionRequest request =
                new ConnectionRequest(this, offer, connectionOf(offer.connection()));
        try {
            handler.onRequest(request);
        } catch (RuntimeException e) {
            // A stranger's request must not stop the device, whatever the handler does.
            if (!request.isOver()) {
                request.reject();
            }
            driver.handlerFailed(e);
        }
    }

    void unlisten(long serviceId) {
        engine.unlisten(serviceId);
        driver.wake();
    }

    /** An offer that waited was answered. */
    void answered(Offer offer) {
        engine.answered(offer);
        driver.wake();
    }

    static void requirePrivateData(byte[] data) {
        if (data.length > ControlMessage.MAX_PRIVATE_BYTES) {
            throw new IllegalArgumentException(
                    "private data of "
                            + data.length
                            + " bytes: at most "
                            + ControlMessage.MAX_PRIVATE_BYTES);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the device is closed");
        }
    }

    /** The one object that stands for a connection here. */
    private Connection connectionOf(ProtocolConnection transport) {
        Object known = transport.handle();
        return (Connection)
                (known != null ? known : transport.handle(new Connection(this, transport)));
    }

    /** Engine thread: something happened. */
    void raise(AsyncEventType type, Object about, String text) {
        if (!eventsWanted) {
            return;
        }
        events.add(
                switch (about) {
                    case ProtocolConnection c -> {
                        Connection connection = connectionOf(c);
                        yield new AsyncEvent(type, connection, connection, text);
                    }
                    case ProtocolQueue s ->
                            new AsyncEvent(
                                    type,
                                    connectionOf(s.connection()),
                                    s.sendQueue().owner(),
                                    text);
                    default -> new AsyncEvent(type, null, about, text);
                });
    }

    /**
     * What happens to connections and queues between completions. Events are kept from the first
     * call on: who never asks for them need not remember what they speak of.
     */
    public AsyncEvents events() {
        eventsWanted = true;
        return events;
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
        closed = true;
        driver.close();
    }

    /** Runs something on the engine's thread. */
    void run(Runnable command) {
        engine.submit(command);
        driver.wake();
    }

    void ring(ProtocolQueue queue) {
        requireOpen();
        if (engine.doorbells().ring(queue.bell())) {
            driver.wake();
        }
    }

    QueuePair createQueuePair(
            Connection connection, ProtectionDomain domain, QueuePairOptions options) {
        requireOpen();
        if (!domain.isOf(engine.regions())
                || options.sendQueue().device() != this
                || options.receiveQueue().device() != this) {
            throw new IllegalArgumentException(
                    "domain and completion queues must be of the device of the connection");
        }
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        if (shared != null && shared.domain() != domain) {
            throw new IllegalArgumentException(
                    "the shared receive queue is of another protection domain than the queue pair");
        }
        CompletionQueue receiveQueue = options.receiveQueue();
        Reservation send = options.sendQueue().reserve(options.sendDepth());
        QueueSlot slot;
        try {
            Reservation receive =
                    shared == null
                            ? receiveQueue.reserve(options.receiveDepth())
                            : shared.roomIn(receiveQueue);
            StreamSettings settings = settings(domain, options);
            slot = connection.transport().addSlot(settings, send, receive);
        } catch (RuntimeException e) {
            options.sendQueue().cancel(send);
            throw e;
        }
        QueuePair pair = new QueuePair(this, connection, slot);
        slot.attach(pair);
        ProtocolQueue made = slot.made();
        if (made != null) {
            ring(made);
        }
        return pair;
    }

    /** One object for queue pairs that are made alike one after the other. */
    private StreamSettings settings(ProtectionDomain domain, QueuePairOptions options) {
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        StreamSettings wanted =
                new StreamSettings(
                        domain.id(),
                        options.sendDepth(),
                        options.receiveDepth(),
                        options.maxSendSge(),
                        options.maxReceiveSge(),
                        options.maxInline(),
                        options.signalAll(),
                        options.rnrRetry(),
                        options.minRnrTimerUs(),
                        shared == null ? null : shared.receives());
        StreamSettings last = lastSettings;
        if (last != null && wanted.equals(last)) {
            return last;
        }
        lastSettings = wanted;
        return wanted;
    }

    void close(ProtocolConnection transport) {
        engine.close(transport);
        driver.wake();
    }
}
