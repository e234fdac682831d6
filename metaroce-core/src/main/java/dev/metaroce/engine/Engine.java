package dev.metaroce.engine;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.rocev2.RoceConnect;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.transport.Acceptor;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.DeviceState;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.transport.MetaRoceProtocol;
import dev.metaroce.transport.Notices;
import dev.metaroce.transport.Offer;
import dev.metaroce.transport.Protocol;
import dev.metaroce.transport.ProtocolConnection;
import dev.metaroce.transport.ProtocolQueue;
import dev.metaroce.util.Rng;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import java.util.function.Consumer;
import java.util.function.IntSupplier;

/**
 * One device as a deterministic object: time and packets go in, packets come out. It has no clock,
 * no thread and no socket; the same object runs over UDP and in a simulator.
 *
 * <p>A driver calls, on one thread:
 *
 * <pre>
 *   A  drainPosted(now)              what applications posted
 *   B  onDatagram(now, ...)          each datagram received, a bounded number per turn
 *   B  onTimeout(now)                when now reached nextDeadlineNs()
 *   C  transmit(now, batch, port)    until it returns 0 (or pollTransmit, and send the batch)
 *   C  nextDeadlineNs()              how long it may sleep when nothing else happens
 * </pre>
 *
 * <p>Time is in nanoseconds of any monotonic clock, always an argument. Work per call is bounded;
 * no reference to the caller's buffers is kept; calls on the packet path allocate nothing and never
 * throw for what a peer sent. Two engines share nothing: more throughput is more engines.
 *
 * <p>{@link #dial}, {@link #listen}, {@link #submit}, {@link #doorbells} and the queries may be
 * used from any thread.
 */
public final class Engine {
    private static final int MAX_TIMERS_PER_TURN = 1024;

    private final Protocol protocol;
    private final Counters counters;
    private final RegionTable regions;
    private final TimerTable timers;
    private final DoorbellList doorbells = new DoorbellList();
    private final IntSupplier keySource;
    private volatile int contextsInUse;

    /** Work for the engine thread. */
    @FunctionalInterface
    private interface Command {
        void run(long nowNs);
    }

    /**
     * A device that speaks MetaRoCE.
     *
     * @param rng decisions that must be reproducible: jitter, nonces
     * @param keySource keys and first sequence numbers; a secure source outside tests and
     *     simulation
     * @param events receives what happens, on the engine's thread
     */
    public Engine(
            DeviceLimits limits,
            EndpointIdentity identity,
            Rng rng,
            IntSupplier keySource,
            EventSink events) {
        this(
                new MetaRoceProtocol(new DeviceState(limits, identity, rng, keySource, events)),
                keySource);
    }

    /**
     * A device that speaks what it is given.
     *
     * @param keySource as above
     */
    public Engine(Protocol protocol, IntSupplier keySource) {
        this.protocol = protocol;
        this.keySource = keySource;
        counters = protocol.counters();
        regions = protocol.regions();
        timers = protocol.timers();
    }

    /** Takes over commands and posted work; returns how many there were (at least when not 0). */
    public int drainPosted(long nowNs) {
        if (doorbells.isQuiet()) {
            return 0;
        }
        regions.gate().enter();
        try {
            return drain(nowNs);
        } finally {
            regions.gate().exit();
        }
    }

    private int drain(long nowNs) {
        int drained = 0;
        DoorbellList.Bell bell = doorbells.takeAll();
        while (bell != null) {
            DoorbellList.Bell following = doorbells.next(bell);
            switch (bell.owner()) {
                case ProtocolQueue queue -> protocol.onWork(nowNs, queue);
                case Command command -> command.run(nowNs);
                default -> throw new IllegalStateException("a bell of nobody: " + bell.owner());
            }
            bell = following;
            drained++;
        }
        return drained;
    }

    /**
     * One datagram, {@code bytes} long, at {@code offset} of {@code memory}, from {@code source}.
     *
     * @param ecn the ECN field that it came with
     */
    public void onDatagram(
            long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, Ecn ecn) {
        counters.increment(CounterId.RX_PACKETS);
        counters.add(CounterId.RX_BYTES, bytes);
        regions.gate().enter();
        try {
            protocol.onDatagram(nowNs, memory, offset, bytes, source, ecn);
        } finally {
            regions.gate().exit();
        }
    }

    /**
     * The system refused to send a datagram, for want of a route for example; it is lost. Whoever
     * tries to connect there will say so when it fails.
     */
    public void onUnsent(NetAddress to, String why) {
        protocol.onUnsent(to, why);
    }

    /** Handles timers that are due. */
    public void onTimeout(long nowNs) {
        regions.gate().enter();
        try {
            for (int i = 0; i < MAX_TIMERS_PER_TURN; i++) {
                int timer = timers.pollExpired(nowNs);
                if (timer < 0) {
                    break;
                }
                protocol.onTimer(nowNs, timer);
            }
        } finally {
            regions.gate().exit();
        }
    }

    /**
     * Appends packets to the batch (which the caller clears); 0 means that nothing may be sent
     * until something else happens.
     */
    public int pollTransmit(long nowNs, TxBatch batch) {
        if (protocol.isQuiet()) {
            noteContexts();
            return 0;
        }
        regions.gate().enter();
        try {
            return poll(nowNs, batch);
        } finally {
            regions.gate().exit();
        }
    }

    /**
     * Clears the batch, fills it and hands it to {@code port} if there is anything to send; no
     * region closes before that returns. For batches that gather payload.
     *
     * @return packets handed over
     */
    public int transmit(long nowNs, TxBatch batch, Consumer<TxBatch> port) {
        batch.clear();
        if (protocol.isQuiet()) {
            noteContexts();
            return 0;
        }
        regions.gate().enter();
        try {
            int packets = poll(nowNs, batch);
            if (packets > 0) {
                port.accept(batch);
            }
            return packets;
        } finally {
            regions.gate().exit();
        }
    }

    /**
     * {@link #transmit}, but of congestion notices alone: for ports that send them though data must
     * wait.
     */
    public int transmitNotices(long nowNs, TxBatch batch, Consumer<TxBatch> port) {
        batch.clear();
        int sent = protocol.pollNotices(nowNs, batch);
        if (sent > 0) {
            countSent(sent, batch.usedBytes());
            port.accept(batch);
        }
        return sent;
    }

    private int poll(long nowNs, TxBatch batch) {
        int bytesBefore = batch.usedBytes();
        int sent = protocol.pollTransmit(nowNs, batch);
        countSent(sent, batch.usedBytes() - bytesBefore);
        noteContexts();
        return sent;
    }

    private void countSent(int sent, int bytes) {
        counters.add(CounterId.TX_PACKETS, sent);
        counters.add(CounterId.TX_BYTES, bytes);
    }

    private void noteContexts() {
        int inUse = protocol.contextsInUse();
        // A volatile store waits for all stores before it, and is seldom needed.
        if (contextsInUse != inUse) {
            contextsInUse = inUse;
        }
    }

    /**
     * The driver comes later than it was to by so much that peers may have lost patience: its
     * process was stopped or starved. Failures that follow say so. A driver that was late had best
     * hand over the datagrams that wait before it calls {@link #onTimeout}.
     *
     * @param lateNs how late, in nanoseconds
     */
    public void notePause(long nowNs, long lateNs) {
        protocol.notePause(nowNs, lateNs);
    }

    /** When {@link #onTimeout} is to be called; Long.MAX_VALUE for never. Compare by difference. */
    public long nextDeadlineNs() {
        return timers.nextDeadlineNs();
    }

    /** True when {@link #drainPosted} has something to do; any thread. */
    public boolean hasPosted() {
        return !doorbells.isQuiet();
    }

    public DoorbellList doorbells() {
        return doorbells;
    }

    public RegionTable regions() {
        return regions;
    }

    public Counters counters() {
        return counters;
    }

    public DeviceLimits limits() {
        return protocol.limits();
    }

    /** Receive contexts granted, as of the last turn. */
    public int contextsInUse() {
        return contextsInUse;
    }

    /**
     * The most bytes that the tables that serve senders take; the same for any number of senders.
     */
    public long contextTableBytes() {
        return protocol.contextTableBytes();
    }

    /**
     * The machines of MetaRoCE, for tests that look inside; engine thread only.
     *
     * @throws ClassCastException when this device speaks another protocol
     */
    public MetaRoceProtocol metaRoce() {
        return (MetaRoceProtocol) protocol;
    }

    /**
     * The machines of RoCEv2.
     *
     * @throws IllegalStateException when this device speaks another protocol
     */
    public RoceProtocol roce() {
        if (protocol instanceof RoceProtocol roce) {
            return roce;
        }
        throw new IllegalStateException("the device does not speak RoCEv2: open it with that");
    }

    /** RoCEv2: connects a queue pair of a connection by hand at the next turn. */
    public void connect(ProtocolQueue queue, RoceConnect other) {
        RoceProtocol roce = roce();
        command(nowNs -> roce.connect(nowNs, queue, other));
    }

    /**
     * Starts to connect to a service.
     *
     * @param privateData 0..64 bytes for the service
     * @param connectNs longest time until it is connected, in nanoseconds; 0 for as long as the
     *     peer answers
     */
    public ProtocolConnection dial(
            NetAddress target, long serviceId, byte[] privateData, long connectNs) {
        long id = (long) keySource.getAsInt() << 32 | (keySource.getAsInt() & 0xFFFF_FFFFL);
        ProtocolConnection connection =
                protocol.dialed(id, target, serviceId, privateData, connectNs);
        command(nowNs -> protocol.dial(nowNs, connection));
        return connection;
    }

    /** Who wants to know what happens to connections; once, before the engine is driven. */
    public void notices(Notices notices) {
        protocol.notices(notices);
    }

    /** Offers a service from the next turn on. */
    public void listen(long serviceId, Acceptor acceptor) {
        command(nowNs -> protocol.listen(serviceId, acceptor));
    }

    /** Offers a service no more from the next turn on; its connections stay. */
    public void unlisten(long serviceId) {
        command(nowNs -> protocol.unlisten(serviceId));
    }

    /** An offer that waited was answered. */
    public void answered(Offer offer) {
        command(nowNs -> protocol.onAnswer(nowNs, offer));
    }

    /** Closes a connection in order, at the next turn. */
    public void close(ProtocolConnection connection) {
        command(nowNs -> protocol.close(nowNs, connection));
    }

    /** Runs something on the engine's thread at the next turn. */
    public void submit(Runnable command) {
        command(nowNs -> command.run());
    }

    /** Commands and posted work wait in one list, so that they keep their order. */
    private void command(Command command) {
        doorbells.ring(new DoorbellList.Bell(command));
    }
}
