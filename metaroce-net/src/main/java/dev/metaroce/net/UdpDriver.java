package dev.metaroce.net;

import dev.metaroce.engine.Engine;
import dev.metaroce.verbs.Driver;
import dev.metaroce.verbs.Signal;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Pumps an engine over a {@link Port}: posted work, datagrams, time-outs, packets to send, in this
 * order, each bounded per turn.
 *
 * <p>Owner of engine and port: in {@link DriveMode#THREAD} a daemon thread named {@code
 * metaroce-<port>}; in {@link DriveMode#INLINE} the first thread that calls {@link #progress} or
 * {@link #await}, for as long as it lives. {@link #wake} and {@link #close} may come from any
 * thread.
 *
 * <p>A defect that escapes the engine stops the driver: it is logged once, the sockets are closed,
 * and every later {@code progress} or {@code await} throws.
 */
public final class UdpDriver implements Driver {
    private static final Logger LOG = System.getLogger(UdpDriver.class.getName());

    /** Datagrams per turn: few enough that acknowledgements leave soon. */
    private static final int RX_DATAGRAMS_MAX = 128;

    /** Batches per turn: few enough that arriving datagrams do not overflow the socket. */
    private static final int TX_BATCHES_MAX = 4;

    private static final int TX_BATCH_BYTES = 128 << 10;
    private static final int TX_RUNS_MAX = 64;
    private static final int TX_RUN_PACKETS_MAX = 64;

    /** Deadlines nearer than this are awaited awake: sleeping and waking takes as long. */
    private static final long AWAKE_NS = 50_000;

    private static final long MS = 1_000_000;

    /** A driver that comes this much later than it was to says so. */
    private static final long PAUSE_NS_MIN = 500 * MS;

    /** Receives after a pause before anything else: more than a socket buffer holds. */
    private static final int PAUSE_RECEIVES_MAX = 256;

    /** First and longest nap of an application thread that waits for the driver thread. */
    private static final long NAP_NS_MIN = 10_000;

    private static final long NAP_NS_MAX = 100_000;
    private static final int LOOKS_BEFORE_NAP = 100;

    private static final VarHandle SLEEPING;
    private static final VarHandle OWNER;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            SLEEPING = lookup.findVarHandle(UdpDriver.class, "sleeping", boolean.class);
            OWNER = lookup.findVarHandle(UdpDriver.class, "owner", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Engine engine;
    private final Port port;
    private final DriveMode mode;
    private final IdleStrategy idleStrategy;
    private final long spinNs;
    private final long sleepNsMax;
    private final String name;
    private final DatagramSink sink;
    private final TxBatch batch;
    private final Consumer<TxBatch> send;

    private final Set<Thread> parked = ConcurrentHashMap.newKeySet();
    private @Nullable Thread owner;
    private boolean sleeping;
    private boolean inTurn;
    private boolean idle;
    private long idleSinceNs;
    private long lastTurnNs;
    private volatile boolean closed;
    private volatile @Nullable Throwable failure;

    /** A driver at rest; {@link #start} sets it going. */
    UdpDriver(Engine engine, Port port, DeviceOptions options) {
        this.engine = engine;
        this.port = port;
        mode = options.driveMode();
        idleStrategy = options.idle();
        spinNs = options.spinNs();
        sleepNsMax = options.sleepNsMax();
        this.name = "metaroce-" + port.localAddresses().getFirst().getPort();
        this.sink = engine::onDatagram;
        PacketMemory memory = PacketMemory.allocate(TX_BATCH_BYTES, options.checksums());
        batch = new TxBatch(memory, TX_RUNS_MAX, TX_RUN_PACKETS_MAX, port.gathers());
        send = port::send;
    }

    /** In thread mode starts the thread; once, by the thread that opened the device. */
    void start() {
        switch (mode) {
            case THREAD -> {
                Thread thread = new Thread(this::run, name);
                thread.setDaemon(true);
                owner = thread;
                thread.start();
            }
            case INLINE -> {}
        }
    }

    private void run() {
        try {
            lastTurnNs = System.nanoTime();
            while (!closed) {
                if (turn() == 0) {
                    rest(sleepNsMax);
                }
            }
            transmit();
        } catch (Throwable t) {
            fail(t);
        } finally {
            port.close();
        }
    }

    /**
     * One round of everything; returns what moved, 0 when there was nothing to do. Receiving comes
     * last, so that an application which answers a message does so before the engine acknowledges
     * it.
     */
    private int turn() {
        lookForPause();
        int moved = transmit();
        // It may have stood still while it sent: what waits now is old news.
        lookForPause();
        moved += port.receive(sink, RX_DATAGRAMS_MAX);
        if (moved > 0) {
            idle = false;
        } else if (!idle) {
            idle = true;
            idleSinceNs = System.nanoTime();
        }
        return moved;
    }

    /**
     * A process that was stopped, or starved, finds its time-outs over and the answers of its peers
     * waiting. These come first, so that nobody is given up for silence that was our own.
     */
    private void lookForPause() {
        long nowNs = System.nanoTime();
        long lateNs =
                switch (mode) {
                    case THREAD -> nowNs - lastTurnNs - sleepNsMax;
                    case INLINE -> -untilDeadlineNs(nowNs);
                };
        lastTurnNs = nowNs;
        if (lateNs < PAUSE_NS_MIN) {
            return;
        }
        engine.notePause(nowNs, lateNs);
        if (mode == DriveMode.THREAD) {
            LOG.log(
                    Level.WARNING,
                    String.format(
                            Locale.ROOT,
                            "%s: this process did not run for %.1f s (stopped or starved): peers"
                                    + " may have given it up",
                            name,
                            lateNs / 1e9));
        }
        for (int i = 0; i < PAUSE_RECEIVES_MAX && port.receive(sink, RX_DATAGRAMS_MAX) > 0; i++) {
            // Each turn takes some of what waits.
        }
    }

    private int transmit() {
        long nowNs = System.nanoTime();
        int moved = engine.drainPosted(nowNs);
        if (untilDeadlineNs(nowNs) <= 0) {
            engine.onTimeout(nowNs);
            moved++;
        }
        for (int i = 0; i < TX_BATCHES_MAX; i++) {
            int packets = engine.transmit(nowNs, batch, send);
            if (packets == 0) {
                break;
            }
            moved += packets;
            nowNs = System.nanoTime();
        }
        Unsent unsent = port.takeUnsent();
        if (unsent != null) {
            engine.onUnsent(unsent.to(), unsent.why());
        }
        return moved;
    }

    private long untilDeadlineNs(long nowNs) {
        long deadlineNs = engine.nextDeadlineNs();
        // "Nothing armed" is no time, and the clock may be negative: the difference would wrap.
        return deadlineNs == Long.MAX_VALUE ? Long.MAX_VALUE : deadlineNs - nowNs;
    }

    /** After a turn without work: looks again at once, yields, or sleeps, by what is due when. */
    @SuppressWarnings("ThreadPriorityCheck") // yields for politeness, not for correctness
    private void rest(long restNsMax) {
        long nowNs = System.nanoTime();
        long waitNs = Math.min(untilDeadlineNs(nowNs), restNsMax);
        if (waitNs <= 0) {
            return;
        }
        switch (idleStrategy) {
            case SPIN -> Thread.onSpinWait();
            case YIELD -> Thread.yield();
            case PARK -> {
                if (waitNs < AWAKE_NS || nowNs - idleSinceNs < spinNs) {
                    // Not a yield: a busy machine would not give the core back for milliseconds.
                    Thread.onSpinWait();
                } else {
                    sleep(waitNs);
                }
            }
        }
    }

    private void sleep(long waitNs) {
        SLEEPING.setVolatile(this, true);
        // Store, then look; wake() publishes, then looks: one of the two sees the other.
        VarHandle.fullFence();
        if (!engine.hasPosted() && !closed) {
            port.await(waitNs);
        }
        SLEEPING.setVolatile(this, false);
        if (mode == DriveMode.THREAD) {
            // An interrupt would end every later select at once; nobody has a reason to send one.
            boolean ignored = Thread.interrupted();
        }
    }

    @Override
    public void wake() {
        VarHandle.fullFence();
        if ((boolean) SLEEPING.getOpaque(this) && SLEEPING.compareAndSet(this, true, false)) {
            port.wakeup();
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException when the device is closed or failed, or when another thread
     *     drives it
     */
    @Override
    public int progress() {
        checkAlive();
        return switch (mode) {
            case THREAD -> 0;
            case INLINE -> inline(false);
        };
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException when the device is closed or failed, or when another thread
     *     drives it
     */
    @Override
    public void idle(long maxNs) {
        checkAlive();
        switch (mode) {
            case THREAD -> {}
            case INLINE -> {
                own();
                rest(maxNs);
            }
        }
    }

    private int inline(boolean transmitOnly) {
        own();
        inTurn = true;
        try {
            return transmitOnly ? transmit() : turn();
        } catch (Throwable t) {
            fail(t);
            port.close();
            throw failed(t);
        } finally {
            inTurn = false;
        }
    }

    /** Makes sure that the calling thread may drive. */
    private void own() {
        if (OWNER.getAcquire(this) != Thread.currentThread()) {
            claim();
        }
        if (inTurn) {
            throw new IllegalStateException(
                    name + ": progress() was called from a handler, inside progress()");
        }
    }

    private void claim() {
        Thread current = Thread.currentThread();
        Thread before = (Thread) OWNER.getAcquire(this);
        if ((before != null && before.isAlive()) || !OWNER.compareAndSet(this, before, current)) {
            throw new IllegalStateException(
                    name
                            + ": this inline device is driven by thread "
                            + ((Thread) OWNER.getAcquire(this)).getName()
                            + "; thread "
                            + current.getName()
                            + " must not drive it too (open it with DriveMode.THREAD for that)");
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException when the device is closed or failed, or when the calling thread
     *     may not wait for it
     */
    @Override
    public boolean await(BooleanSupplier condition, long timeoutNs) {
        return switch (mode) {
            case THREAD -> awaitThread(condition, timeoutNs);
            case INLINE -> awaitInline(condition, timeoutNs);
        };
    }

    private boolean awaitInline(BooleanSupplier condition, long timeoutNs) {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            int moved = progress();
            long leftNs = timeoutNs - (System.nanoTime() - startNs);
            if (leftNs <= 0) {
                return condition.getAsBoolean();
            }
            if (moved == 0 && !condition.getAsBoolean()) {
                rest(Math.min(leftNs, MS));
            }
        }
        // Whoever waited may not come again for long.
        sendOwed();
        return true;
    }

    @Override
    public Signal newSignal() {
        return switch (mode) {
            case THREAD -> new ParkingSignal(this);
            case INLINE -> Driver.super.newSignal();
        };
    }

    /** Application threads that sleep, to be woken when the driver ends. */
    Set<Thread> parked() {
        return parked;
    }

    /** Throws when the calling thread would wait for ever. */
    void checkMayWait() {
        if (Thread.currentThread() == owner) {
            throw new IllegalStateException(
                    name + ": a handler on the engine's thread must not wait for the engine");
        }
        checkAlive();
    }

    private boolean awaitThread(BooleanSupplier condition, long timeoutNs) {
        long startNs = System.nanoTime();
        long napNs = NAP_NS_MIN;
        int looks = 0;
        while (!condition.getAsBoolean()) {
            checkMayWait();
            long leftNs = timeoutNs - (System.nanoTime() - startNs);
            if (leftNs <= 0) {
                return condition.getAsBoolean();
            }
            if (looks < LOOKS_BEFORE_NAP) {
                looks++;
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(this, Math.min(leftNs, napNs));
                napNs = Math.min(napNs * 2, NAP_NS_MAX);
            }
        }
        return true;
    }

    private void checkAlive() {
        Throwable cause = failure;
        if (cause != null) {
            throw failed(cause);
        }
        if (closed) {
            throw new IllegalStateException(name + ": the device is closed");
        }
    }

    @Override
    public void handlerFailed(RuntimeException cause) {
        LOG.log(Level.ERROR, name + ": a connection was refused, its handler failed", cause);
    }

    private void fail(Throwable cause) {
        failure = cause;
        parked.forEach(LockSupport::unpark);
        LOG.log(Level.ERROR, name + " stopped, its device is dead", cause);
    }

    private IllegalStateException failed(Throwable cause) {
        return new IllegalStateException(
                name + " stopped by a defect: " + cause + "; close the device and open a new one",
                cause);
    }

    /**
     * {@inheritDoc} What is owed to peers now is sent before, unless another thread drives an
     * inline device. A second call does nothing. From a handler it returns before the thread ends.
     */
    @Override
    public void close() {
        sendOwed();
        closed = true;
        parked.forEach(LockSupport::unpark);
        Thread thread = owner;
        switch (mode) {
            case THREAD -> {
                port.wakeup();
                if (thread != null && thread != Thread.currentThread()) {
                    joinUninterruptibly(thread);
                }
            }
            case INLINE -> port.close();
        }
    }

    /** Inline mode: sends now what a next turn would, if this thread may and can. */
    private void sendOwed() {
        boolean may = mode == DriveMode.INLINE && owner == Thread.currentThread() && !inTurn;
        if (may && !closed && failure == null) {
            inline(true);
        }
    }

    static void joinUninterruptibly(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                TimeUnit.MILLISECONDS.timedJoin(thread, 100);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
