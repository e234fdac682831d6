package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.util.Rng;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.function.IntSupplier;

/**
 * What the machines of one device share: limits, counters, timers, the outbox and the connections.
 * Holds no behaviour of the protocol. Owner: the engine thread.
 *
 * <p>Timer ids: 0..255 acknowledgement of a context, 256..511 life of a context, 512 the CID pool,
 * 513 the waiting line, from 514 connections by index.
 */
public final class DeviceState {
    static final int LIFE_TIMERS = 256;
    static final int POOL_TIMER = 512;
    static final int LINE_TIMER = 513;
    static final int CONNECTION_TIMERS = 514;

    final DeviceLimits limits;
    final EndpointIdentity identity;
    final Rng rng;
    final IntSupplier keySource;
    final Counters counters = new Counters();
    final EventSink events;
    final RegionTable regions;
    final TimerTable timers = new TimerTable(CONNECTION_TIMERS);
    final ControlOutbox outbox = new ControlOutbox();
    final ReadyList<TransportConnection> ready = new ReadyList<>();

    private @Nullable TransportConnection[] connections = new TransportConnection[4];
    private int connectionCount;
    private int nextIndex;

    public DeviceState(
            DeviceLimits limits,
            EndpointIdentity identity,
            Rng rng,
            IntSupplier keySource,
            EventSink events) {
        this.limits = limits;
        this.identity = identity;
        this.rng = rng;
        this.keySource = keySource;
        this.events = events;
        regions = new RegionTable(keySource);
    }

    public DeviceLimits limits() {
        return limits;
    }

    public Counters counters() {
        return counters;
    }

    public RegionTable regions() {
        return regions;
    }

    public TimerTable timers() {
        return timers;
    }

    void event(long nowNs, EventId id, long a, long b, long c) {
        events.onEvent(nowNs, id, a, b, c);
    }

    void send(
            ControlOpcode opcode,
            NetAddress to,
            @Nullable TransportConnection about,
            int ctx,
            long nonce,
            int token,
            int code,
            long value) {
        if (!outbox.offer(opcode, to, about, ctx, nonce, token, code, value)) {
            counters.increment(CounterId.CONTROL_DROPPED);
        }
    }

    /** Sets a timer only when it is earlier than what is armed: expiry re-computes the deadline. */
    void armBy(int timer, long deadlineNs) {
        if (!timers.isArmed(timer) || timers.deadlineNs(timer) - deadlineNs > 0) {
            timers.set(timer, deadlineNs);
        }
    }

    /**
     * Gives a connection its index, which is also its source context.
     *
     * @return false when the device holds as many connections as its limits allow
     */
    boolean add(TransportConnection connection) {
        if (isFull()) {
            return false;
        }
        if (connectionCount == connections.length) {
            int size = Math.min(limits.maxConnections(), connections.length * 2);
            connections = Arrays.copyOf(connections, size);
        }
        // Round robin over the table, so that a late packet of an earlier connection rarely meets a
        // new one under its number; the token in every answer catches the rest.
        while (connections[nextIndex % connections.length] != null) {
            nextIndex++;
        }
        int index = nextIndex++ % connections.length;
        connections[index] = connection;
        connection.index = index;
        connectionCount++;
        return true;
    }

    /** True when the device holds as many connections as its limits allow. */
    boolean isFull() {
        return connectionCount == limits.maxConnections();
    }

    void remove(TransportConnection connection) {
        timers.cancel(CONNECTION_TIMERS + connection.index);
        connections[connection.index] = null;
        connectionCount--;
    }

    @Nullable TransportConnection connection(int index) {
        return index < connections.length ? connections[index] : null;
    }

    /** Connections that have not ended. */
    int connectionCount() {
        return connectionCount;
    }

    int connectionSlots() {
        return connections.length;
    }
}
