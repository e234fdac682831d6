package dev.metaroce.sim.run;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.Reth;
import dev.metaroce.wire.roce.RoceUdp;

import java.util.List;
import java.util.stream.IntStream;

/**
 * Hosts that speak RoCEv2.
 *
 * @param settings of all of them, but for address and source ports
 * @param connectsByHand false: by the exchange of rdma_cm
 */
record RoceHosts(RoceSettings settings, boolean connectsByHand) implements HostProtocol {
    /** Source ports of a host; queue pairs share them. */
    private static final int ROUTES = 64;

    private static final int FIRST_PORT = 0xC000;

    @Override
    public int port() {
        return RoceUdp.PORT;
    }

    @Override
    public int firstSourcePort(Rng rng) {
        return FIRST_PORT + rng.nextInt(0x1_0000 - FIRST_PORT - ROUTES);
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
        List<Integer> ports =
                IntStream.range(firstSourcePort, firstSourcePort + ROUTES).boxed().toList();
        RoceSettings own =
                settings.toBuilder().addresses(List.of(address)).sourcePorts(ports).build();
        return new Engine(new RoceProtocol(limits, own, keys::nextInt, events), keys::nextInt);
    }

    /** The ICRC covers the port. */
    @Override
    public NetAddress[] sources(NetAddress address, int firstSourcePort) {
        NetAddress[] sources = new NetAddress[ROUTES];
        for (int route = 0; route < ROUTES; route++) {
            int port = firstSourcePort + route;
            sources[route] = new NetAddress(address.high(), address.low(), port, 0, 0);
        }
        return sources;
    }

    @Override
    public Kind kind(PacketMemory memory, int at, boolean ect) {
        RcOpcode opcode = RcOpcode.of(Bth.opcode(memory, at));
        if (opcode == null || opcode.isDatagram()) {
            return Kind.ANSWER;
        }
        if (opcode == RcOpcode.CNP) {
            return Kind.CNP;
        }
        return opcode.isRequest() || opcode.isReadResponse() ? Kind.DATA : Kind.ACK;
    }

    /** That of the queue pair, for requests as in the other protocol: answers find theirs. */
    @Override
    public int context(PacketMemory memory, int at) {
        RcOpcode opcode = RcOpcode.of(Bth.opcode(memory, at));
        return opcode != null && opcode.isRequest() ? Bth.destQp(memory, at) : NO_CONTEXT;
    }

    @Override
    public int dataOverheadBytes() {
        return Bth.BYTES + Icrc.BYTES;
    }

    @Override
    public int firstOverheadBytes() {
        return Reth.BYTES;
    }

    @Override
    public int ackBytes() {
        return Bth.BYTES + Aeth.BYTES + Icrc.BYTES;
    }
}
