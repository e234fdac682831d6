package dev.metaroce.transport;

import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.SharedReceives;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A queue pair that may never be used: what it was made with. Its {@link Stream}, with the queues
 * and all that counts messages, is made with the first request that is posted and the first packet
 * that comes, whichever is earlier. Any thread.
 */
public final class StreamSlot implements QueueSlot {
    private static final VarHandle STREAM;
    private static final VarHandle OWNER;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STREAM = lookup.findVarHandle(StreamSlot.class, "stream", Stream.class);
            OWNER = lookup.findVarHandle(StreamSlot.class, "owner", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int id;
    private final TransportConnection connection;
    private final StreamSettings settings;
    private final Reservation sendRoom;
    private final Reservation receiveRoom;
    private @Nullable Object owner;
    private @Nullable Stream stream;

    StreamSlot(
            int id,
            TransportConnection connection,
            StreamSettings settings,
            Reservation sendRoom,
            Reservation receiveRoom) {
        this.id = id;
        this.connection = connection;
        this.settings = settings;
        this.sendRoom = sendRoom;
        this.receiveRoom = receiveRoom;
        SharedReceives shared = settings.shared();
        if (shared != null) {
            shared.join();
        }
    }

    @Override
    public int id() {
        return id;
    }

    @Override
    public StreamSettings settings() {
        return settings;
    }

    @Override
    public Reservation sendRoom() {
        return sendRoom;
    }

    @Override
    public Reservation receiveRoom() {
        return receiveRoom;
    }

    TransportConnection connection() {
        return connection;
    }

    @Override
    public void attach(Object pair) {
        OWNER.setRelease(this, pair);
        Stream there = made();
        if (there != null) {
            there.attach(pair);
        }
    }

    @Override
    public @Nullable Stream made() {
        return (Stream) STREAM.getAcquire(this);
    }

    @Override
    public Stream queue() {
        Stream there = made();
        return there == null ? make() : there;
    }

    private Stream make() {
        Stream fresh = new Stream(this);
        Object pair = OWNER.getAcquire(this);
        if (pair != null) {
            fresh.attach(pair);
        }
        Stream first = (Stream) STREAM.compareAndExchange(this, (Stream) null, fresh);
        Stream there = first == null ? fresh : first;
        connection.addStream(there);
        return there;
    }
}
