import dev.metaroce.engine.Engine;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The exercise of the article behind this project, asked of the real protocol machines instead of a
 * toy: a receiver with a pool of four context ids, two senders that ask for one each, three packets
 * of which the last is a second copy, and one release. There is no network and no clock: this
 * program carries every packet itself and says what time it is.
 */
public final class AllocatorExercise {
    private static final int POOL = 4;
    private static final int PAYLOAD_BYTES = 256;
    private static final int SERVICE = 1;
    private static final long MS = 1_000_000;

    /** An endpoint whose packets go where this program carries them. */
    private static final class Node {
        final Engine engine;
        final RdmaDevice device;
        final NetAddress address;
        private final TxBatch out = new TxBatch(1 << 16, 64, 1);

        Node(int number, EventSink events) {
            DeviceLimits limits =
                    DeviceLimits.defaults().toBuilder()
                            .contexts(POOL)
                            .payloadMtu(PAYLOAD_BYTES)
                            .lingerNs(MS)
                            .build();
            Rng rng = new Rng(number);
            address = NetAddress.ofIpv4(0x0A00_0000 + number, 50_791);
            EndpointIdentity identity = new EndpointIdentity(rng.nextLong(), 1);
            engine = new Engine(limits, identity, rng, rng::nextInt, events);
            device = new RdmaDevice(engine, new ManualDriver());
        }

        /** Every packet the engine wants to send now. */
        List<byte[]> packets(long nowNs) {
            engine.drainPosted(nowNs);
            engine.onTimeout(nowNs);
            List<byte[]> packets = new ArrayList<>();
            out.clear();
            while (engine.pollTransmit(nowNs, out) > 0) {
                for (int run = 0; run < out.runs(); run++) {
                    byte[] packet = new byte[out.bytes(run)];
                    out.memory().bytes().get(out.offset(run), packet);
                    packets.add(packet);
                }
                out.clear();
            }
            return packets;
        }

        void deliver(long nowNs, byte[] packet, Node from) {
            PacketMemory memory = new PacketMemory(packet.length);
            memory.bytes().put(0, packet);
            engine.onDatagram(nowNs, memory, 0, packet.length, from.address, Ecn.UNKNOWN);
        }
    }

    private final TreeSet<Long> inUse = new TreeSet<>();
    private final Node receiver = new Node(1, this::onReceiverEvent);
    private final Node first = new Node(2, EventSink.NONE);
    private final Node second = new Node(3, EventSink.NONE);
    private long nowNs = MS;

    /** What the receiver says about its pool: granted and given back. */
    private void onReceiverEvent(long atNs, EventId id, long peer, long cid, long epoch) {
        if (id == EventId.CID_GRANTED) {
            inUse.add(cid);
        } else if (id == EventId.CID_RELEASED) {
            inUse.remove(cid);
        }
    }

    public static void main(String[] args) {
        new AllocatorExercise().run();
    }

    private void run() {
        offerMemory();
        Connection c1 = connect(first);
        System.out.println("c1 = " + c1.cid());
        Connection c2 = connect(second);
        System.out.println("c2 = " + c2.cid());

        List<byte[]> packets = writeTwoPackets(c1);
        tell("packet 0 of c1", packets.get(0));
        tell("packet 1 of c1", packets.get(1));
        tell("packet 1 of c1", packets.get(1));

        nowNs += 2 * MS; // longer than an idle lease is kept
        exchange(second);
        String set = inUse.toString().replace('[', '{').replace(']', '}');
        System.out.println("released c2, in use: " + set);
    }

    /** The receiver offers 4 KiB to whoever connects. */
    private void offerMemory() {
        RdmaDevice device = receiver.device;
        ProtectionDomain domain = device.allocProtectionDomain();
        MemorySegment memory = Arena.ofAuto().allocate(4096);
        MemoryRegion region = domain.register(memory, Access.REMOTE_WRITE);
        byte[] where = new byte[RegionDescriptor.BYTES];
        region.descriptor().put(ByteBuffer.wrap(where));
        device.listen(
                SERVICE,
                request -> {
                    CompletionQueue unused = device.createCompletionQueue(2);
                    request.connection().createQueuePair(domain, unused, unused, 1, 1);
                    request.accept(where);
                });
        receiver.packets(nowNs); // a turn in which the engine takes the order
    }

    private Connection connect(Node sender) {
        Connection connection =
                sender.device.connect(receiver.address, SERVICE, new byte[0]);
        exchange(sender);
        return connection;
    }

    /** Carries packets both ways until nobody has one. */
    private void exchange(Node sender) {
        for (int round = 0; round < 100; round++) {
            List<byte[]> there = sender.packets(nowNs);
            there.forEach(packet -> receiver.deliver(nowNs, packet, sender));
            List<byte[]> back = receiver.packets(nowNs);
            back.forEach(packet -> sender.deliver(nowNs, packet, receiver));
            if (there.isEmpty() && back.isEmpty()) {
                return;
            }
        }
    }

    private List<byte[]> writeTwoPackets(Connection connection) {
        RdmaDevice device = first.device;
        ProtectionDomain domain = device.allocProtectionDomain();
        MemorySegment bytes = Arena.ofAuto().allocate(2 * PAYLOAD_BYTES);
        MemoryRegion local = domain.register(bytes, 0);
        CompletionQueue completions = device.createCompletionQueue(2);
        QueuePair pair = connection.createQueuePair(domain, completions, completions, 1, 1);
        RegionDescriptor remote =
                RegionDescriptor.get(ByteBuffer.wrap(connection.peerPrivateData()));
        pair.postWrite(7, local, 0, local.length(), remote.address(), remote.rkey());
        List<byte[]> packets = first.packets(nowNs);
        if (packets.size() != 2) {
            throw new IllegalStateException(packets.size() + " packets instead of 2");
        }
        return packets;
    }

    /** Delivers a packet and says, from the receiver's counters, what became of it. */
    private void tell(String what, byte[] packet) {
        long accepted = count(CounterId.DATA_ACCEPTED);
        long duplicates = count(CounterId.DUPLICATES);
        receiver.deliver(nowNs, packet, first);
        String verdict = "refused";
        if (count(CounterId.DATA_ACCEPTED) > accepted) {
            verdict = "accepted";
        } else if (count(CounterId.DUPLICATES) > duplicates) {
            verdict = "refused as a duplicate";
        }
        System.out.println(what + ": " + verdict);
    }

    private long count(CounterId id) {
        return receiver.device.counters().get(id);
    }
}
