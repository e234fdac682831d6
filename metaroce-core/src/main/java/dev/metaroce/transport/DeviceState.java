package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.util.IntRing;
import dev.metaroce.util.ReadyList;
import dev.metaroce.util.Rng;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntSupplier;

/**
 * What the machines of one device share: limits, counters, timers, the outbox and the connections.
 * Holds no behaviour of the protocol. Owner: the engine thread.
 *
 * <p>A timer id is a number and a role: acknowledgement and life of the context with that number,
 * the connection with that index, and those of the device itself. So the table of timers grows with
 * what is in use.
 */
public final class DeviceState {
    static final int ACK_TIMER = 0;
    static final int LIFE_TIMER = 1;
    static final int CONNECTION_TIMER = 2;
    static final int DEVICE_TIMER = 3;
    private static final int ROLE_BITS = 2;

    /** Numbers that have timers of all roles; those above have the one of a connection. */
    private static final int ALL_ROLES = CidPool.MAX_CAPACITY;

    private static final int MORE_TIMERS = (ALL_ROLES << ROLE_BITS) - ALL_ROLES;

    /** Numbers of the timers of the device. */
    static final int POOL = 0;

    static final int LINE = 1;
    static final int OFFERS = 2;
    static final int PULLS = 3;
    static final int HINTS = 4;

    static final int POOL_TIMER = timer(POOL, DEVICE_TIMER);
    static final int LINE_TIMER = timer(LINE, DEVICE_TIMER);
    static final int OFFER_TIMER = timer(OFFERS, DEVICE_TIMER);
    static final int HINT_TIMER = timer(HINTS, DEVICE_TIMER);
    static final int PULL_TIMER = timer(PULLS, DEVICE_TIMER);

    /** Packets acknowledged without a loss after which no more is to be expected. */
    private static final int LOSS_FORGOTTEN_PACKETS = 4096;

    private static final String ECN_MISSING_TEXT =
            "packets of the peer come without ECN: cleared on the way, or not set by its system;"
                    + " loss and delay alone tell of congestion";

    private static final long PAUSE_SHOWS_NS = 1_000_000_000;

    final DeviceLimits limits;
    final EndpointIdentity identity;
    final Rng rng;
    final IntSupplier keySource;
    final Counters counters = new Counters();
    final EventSink events;
    final RegionTable regions;
    final PullBudget pulls;
    final PullPace pullPace;
    final TimerTable timers = new TimerTable(0);
    final ControlOutbox outbox = new ControlOutbox();
    final SourceContexts sources = new SourceContexts();
    final ReadyList<TransportConnection> ready = new ReadyList<>();

    /** The last time this endpoint stood still: how long, and when that ended. */
    private long pauseNs;

    private long pauseEndNs;

    private int packetsSinceLoss = LOSS_FORGOTTEN_PACKETS;

    Notices notices = Notices.NONE;
    private @Nullable TransportConnection[] connections = new TransportConnection[4];
    private int connectionCount;

    /** Places given back; those from {@link #usedPlaces} on were never given. */
    private final IntRing freePlaces = new IntRing();

    private int usedPlaces;

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
        pulls = new PullBudget(limits);
        pullPace = new PullPace(limits, pulls);
    }

    void noteLoss() {
        packetsSinceLoss = 0;
    }

    void noteAcknowledged(int packets) {
        packetsSinceLoss = Math.min(packetsSinceLoss + packets, LOSS_FORGOTTEN_PACKETS);
    }

    /** True when packets to anyone got lost lately. */
    boolean isLossy() {
        return packetsSinceLoss < LOSS_FORGOTTEN_PACKETS;
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

    public void notices(Notices told) {
        notices = told;
    }

    /** The id of a timer. */
    static int timer(int number, int role) {
        return number < ALL_ROLES ? number << ROLE_BITS | role : number + MORE_TIMERS;
    }

    /** The number in the id of a timer. */
    static int timerNumber(int timer) {
        return timer < ALL_ROLES << ROLE_BITS ? timer >>> ROLE_BITS : timer - MORE_TIMERS;
    }

    /** The role in the id of a timer. */
    static int timerRole(int timer) {
        return timer < ALL_ROLES << ROLE_BITS ? timer & ((1 << ROLE_BITS) - 1) : CONNECTION_TIMER;
    }

    void event(long nowNs, EventId id, long a, long b, long c) {
        events.onEvent(nowNs, id, a, b, c);
    }

    /** A packet of a peer that is to be marked ECN-capable came with this. */
    void noteEcn(long nowNs, @Nullable TransportConnection c, Ecn ecn) {
        if (ecn == Ecn.CE) {
            counters.increment(CounterId.CE_PACKETS);
        } else if (ecn == Ecn.NOT_ECT) {
            counters.increment(CounterId.NOT_ECT_PACKETS);
            //= MR-5.2-20
            if (c != null && !c.lacksEcn) {
                c.lacksEcn = true;
                event(nowNs, EventId.ECN_MISSING, c.peer.port(), 0, 0);
                c.notices.raise(AsyncEventType.ECN_MISSING, c, ECN_MISSING_TEXT);
            }
        }
    }

    /** This endpoint did nothing for {@code lateNs}, though it was to. */
    public void notePause(long nowNs, long lateNs) {
        pauseNs = lateNs;
        pauseEndNs = nowNs;
        counters.increment(CounterId.PAUSES);
        event(nowNs, EventId.PAUSED, lateNs / 1_000_000, 0, 0);
    }

    /** True soon after the end of a pause that was at least so long. */
    boolean wasPausedFor(long nowNs, long atLeastNs) {
        return pauseNs >= atLeastNs && nowNs - pauseEndNs < PAUSE_SHOWS_NS;
    }

    /** What to add to the reason of a failure that a pause may have caused; else empty. */
    String pauseText(long nowNs) {
        return wasPausedFor(nowNs, 1)
                ? String.format(
                        Locale.ROOT,
                        ", after this process did not run for %.1f s (stopped or starved)",
                        pauseNs / 1e9)
                : "";
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
     * Gives a connection its index.
     *
     * @return false when the device holds as many connections as its limits allow
     */
    boolean add(TransportConnection connection) {
        if (isFull()) {
            return false;
        }
        int index = freePlaces.isEmpty() ? addPlace() : freePlaces.poll();
        connections[index] = connection;
        connection.index = index;
        connection.notices = notices;
        connectionCount++;
        return true;
    }

    private int addPlace() {
        if (usedPlaces == connections.length) {
            int size = Math.min(limits.maxConnections(), connections.length * 2);
            connections = Arrays.copyOf(connections, size);
        }
        return usedPlaces++;
    }

    /** True when the device holds as many connections as its limits allow. */
    boolean isFull() {
        return connectionCount == limits.maxConnections();
    }

    void remove(TransportConnection connection) {
        timers.cancel(timer(connection.index, CONNECTION_TIMER));
        sources.takeBack(connection);
        connection.rest();
        connections[connection.index] = null;
        freePlaces.add(connection.index);
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
