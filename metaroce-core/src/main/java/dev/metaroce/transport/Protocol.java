package dev.metaroce.transport;

import dev.metaroce.event.Counters;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

/**
 * The machines of one device for one protocol, as an engine drives them: packets, posted work,
 * expired timers and room to send go in. The engine has the regions entered during each call.
 *
 * <p>Owner: the engine thread, but for what is marked otherwise.
 */
public interface Protocol {
    RegionTable regions();

    Counters counters();

    TimerTable timers();

    DeviceLimits limits();

    /** Who wants to know what happens to connections; once, before anything else. */
    void notices(Notices notices);

    // Application

    /**
     * Any thread: a connection of ours that {@link #dial} is to be told of.
     *
     * @param id chosen at random
     * @param connectNs longest time until it is connected, in nanoseconds; 0 for no limit
     */
    ProtocolConnection dialed(
            long id, NetAddress target, long serviceId, byte[] privateData, long connectNs);

    /** Starts to connect. */
    void dial(long nowNs, ProtocolConnection connection);

    void listen(long serviceId, Acceptor acceptor);

    void unlisten(long serviceId);

    /** The application answered an offer that was waiting. */
    void onAnswer(long nowNs, Offer offer);

    /** Closes a connection in order. */
    void close(long nowNs, ProtocolConnection connection);

    /** Work was posted to a queue, or it was closed. */
    void onWork(long nowNs, ProtocolQueue queue);

    // Network and time

    /** One datagram, with its checks still to be made; see {@code Engine.onDatagram}. */
    void onDatagram(
            long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, Ecn ecn);

    /** A timer of {@link #timers} expired. */
    void onTimer(long nowNs, int timer);

    /** The system refused to send a datagram. */
    void onUnsent(NetAddress to, String why);

    /** This endpoint did nothing for {@code lateNs}, though it was to. */
    void notePause(long nowNs, long lateNs);

    /** True when {@link #pollTransmit} would find nothing to look at. */
    boolean isQuiet();

    /**
     * Appends congestion notices alone, for ports that send them apart from all else; returns the
     * packets.
     */
    default int pollNotices(long nowNs, TxBatch batch) {
        return 0;
    }

    /** Appends what may be sent now; returns the packets. */
    int pollTransmit(long nowNs, TxBatch batch);

    // Reports

    /** Contexts that serve senders: context ids granted, or queue pairs. */
    int contextsInUse();

    /** The most bytes that the tables take that serve senders. */
    long contextTableBytes();
}
