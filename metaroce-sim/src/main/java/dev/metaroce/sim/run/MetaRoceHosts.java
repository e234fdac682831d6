package dev.metaroce.sim.run;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;

/** Hosts that speak MetaRoCE. */
record MetaRoceHosts() implements HostProtocol {
    private static final int FIRST_PORTS = 32_768;
    private static final int PORT = 50_791;

    /** All headers of a WRITE. */
    private static final int WRITE_BYTES = 48;

    @Override
    public int port() {
        return PORT;
    }

    @Override
    public int firstSourcePort(Rng rng) {
        return FIRST_PORTS + rng.nextInt(16_384);
    }

    @Override
    public Engine engine(
            NetAddress address,
            int firstSourcePort,
            DeviceLimits limits,
            int incarnation,
            Rng rng,
            EventSink events) {
        Rng keys = rng.fork("keys");
        EndpointIdentity identity = new EndpointIdentity(rng.nextLong(), incarnation);
        return new Engine(limits, identity, rng, keys::nextInt, events);
    }

    /** Whatever the route: packets say who sends. */
    @Override
    public NetAddress[] sources(NetAddress address, int firstSourcePort) {
        return new NetAddress[] {address};
    }

    @Override
    public Kind kind(PacketMemory memory, int at, boolean ect) {
        return ect ? Kind.DATA : Kind.ANSWER;
    }

    @Override
    public boolean connectsByHand() {
        return false;
    }

    @Override
    public int context(PacketMemory memory, int at) {
        int type = CommonHeader.type(memory, at);
        boolean needs = type == PacketType.DATA.code() || type == PacketType.PROBE.code();
        return needs ? CommonHeader.cid(CommonHeader.ctx(memory, at)) : NO_CONTEXT;
    }

    @Override
    public int dataOverheadBytes() {
        return WRITE_BYTES + CommonHeader.TRAILER_BYTES;
    }

    @Override
    public int firstOverheadBytes() {
        return 0;
    }

    @Override
    public int ackBytes() {
        return CommonHeader.BYTES
                + AckHeader.LEASE_BYTES
                + AckHeader.RECORD_BYTES
                + CommonHeader.TRAILER_BYTES;
    }
}
