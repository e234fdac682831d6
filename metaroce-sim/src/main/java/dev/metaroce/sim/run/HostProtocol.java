package dev.metaroce.sim.run;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/** What a simulation does in its own way for each protocol that hosts speak. */
sealed interface HostProtocol permits MetaRoceHosts, RoceHosts {
    /** From {@link #context}: the packet needs none. */
    int NO_CONTEXT = -1;

    /** What a packet is to the network. */
    enum Kind {
        /** Requests, and what was read. */
        DATA,
        /** What RoCEv2 sends in the class of the data that it answers. */
        ACK,
        /** Answers of MetaRoCE, and control. */
        ANSWER,
        /** The congestion notification packets of RoCEv2. */
        CNP
    }

    /** The one that a configuration asks for. */
    static HostProtocol of(SimConfig config) {
        RoceSettings roce = config.roce();
        return roce == null
                ? new MetaRoceHosts()
                : new RoceHosts(roce, config.connections() == Connections.WARM);
    }

    /** UDP port that packets to a host go to. */
    int port();

    /** The first port that a host sends from; those of its other routes follow. */
    int firstSourcePort(Rng rng);

    /**
     * A new engine.
     *
     * @param incarnation counts the processes that had the address
     */
    Engine engine(
            NetAddress address,
            int firstSourcePort,
            DeviceLimits limits,
            int incarnation,
            Rng rng,
            EventSink events);

    /** Whom receivers see as the sender: one for all routes of a host, or one for each. */
    NetAddress[] sources(NetAddress address, int firstSourcePort);

    /**
     * What a packet is to the network.
     *
     * @param ect it may be marked
     */
    Kind kind(PacketMemory memory, int at, boolean ect);

    /** True when hosts just know each other's queue pairs: connections take no messages. */
    boolean connectsByHand();

    /** The context that the NIC needs to receive a packet; {@link #NO_CONTEXT} for none. */
    int context(PacketMemory memory, int at);

    /** What a full packet of a WRITE has beside payload, in bytes of the datagram. */
    int dataOverheadBytes();

    /** What the first packet of a WRITE has beside that. */
    int firstOverheadBytes();

    /** An acknowledgement, in bytes of the datagram. */
    int ackBytes();
}
