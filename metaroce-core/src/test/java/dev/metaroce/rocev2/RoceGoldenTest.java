package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Pcap;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.ReceiveRequest;
import dev.metaroce.verbs.SharedReceiveQueue;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RoceDoor;
import dev.metaroce.wire.roce.RoceUdp;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The requests of a Soft-RoCE client, as captured, go to a queue pair of ours; what it answers has
 * to be what the Soft-RoCE server answered. Only what the two ends agree on differs: addresses,
 * queue pair numbers, keys, and where the region starts.
 */
class RoceGoldenTest {
    private static final int IP_AND_UDP_BYTES = 28;
    private static final int SOURCE_LAST_BYTE_AT = 15;
    private static final int CLIENT = 2;
    private static final int VA_AT = Bth.BYTES;
    private static final int RKEY_AT = Bth.BYTES + 8;
    private static final long PAGE = 4096;
    private static final int REGION_BYTES = 1 << 17;

    /** What matters of an answer. */
    private record Answer(RcOpcode opcode, int psn, int syndrome, int msn, int payload) {
        static Answer of(byte[] bytes) {
            PacketMemory m = memory(bytes);
            RcOpcode opcode = Objects.requireNonNull(RcOpcode.of(Bth.opcode(m, 0)));
            return new Answer(
                    opcode,
                    Bth.psn(m, 0),
                    opcode.hasAeth() ? Aeth.syndrome(m, 0) : -1,
                    opcode.hasAeth() ? Aeth.msn(m, 0) : -1,
                    RoceDoor.payloadBytes(m, 0, opcode, bytes.length));
        }
    }

    private static PacketMemory memory(byte[] bytes) {
        PacketMemory m = new PacketMemory(bytes.length);
        m.bytes().put(0, bytes);
        return m;
    }

    private final Lab lab = new Lab(1);
    private final NetAddress client = NetAddress.ofIpv4(0x0A00_0063, RoceUdp.PORT);
    private final List<byte[]> requests = new ArrayList<>();
    private final List<Answer> golden = new ArrayList<>();
    private final List<Answer> answers = new ArrayList<>();
    private int clientQpn;

    /** Of the region that a message takes the rights from. */
    private int doomedKey;

    private void read(String capture) {
        for (byte[] ip : Pcap.rocePackets(capture)) {
            byte[] packet = new byte[ip.length - IP_AND_UDP_BYTES];
            System.arraycopy(ip, IP_AND_UDP_BYTES, packet, 0, packet.length);
            if (ip[SOURCE_LAST_BYTE_AT] == CLIENT) {
                requests.add(packet);
            } else {
                golden.add(Answer.of(packet));
                clientQpn = Bth.destQp(memory(packet), 0);
            }
        }
    }

    private static boolean hasAddress(byte[] request) {
        RcOpcode opcode = RcOpcode.of(request[0]);
        return opcode != null
                && (opcode.hasReth() || opcode.isAtomic())
                // An empty message has no address that means anything.
                && (opcode.isAtomic() || memory(request).i32(RKEY_AT + 4) != 0);
    }

    /** The request as our server has to get it. */
    private byte[] rewritten(byte[] request, int qpn, long base, MemoryRegion region, int key) {
        PacketMemory m = memory(request);
        m.put32(4, (m.i32(4) & 0xFF00_0000) | qpn);
        RcOpcode opcode = Objects.requireNonNull(RcOpcode.of(Bth.opcode(m, 0)));
        if (hasAddress(request)) {
            m.put64(VA_AT, m.i64(VA_AT) - base + region.address());
            m.put32(RKEY_AT, m.i32(RKEY_AT) == key ? region.rkey() : region.rkey() + 1);
        }
        if (opcode.hasIeth()) {
            m.put32(Bth.BYTES, doomedKey);
        }
        Icrc icrc = new Icrc();
        icrc.flow(client, NetAddress.ofIpv4(0x0A00_0000, RoceUdp.PORT));
        icrc.seal(m, 0, request.length - Icrc.BYTES, 0);
        byte[] bytes = new byte[request.length];
        m.bytes().get(0, bytes);
        return bytes;
    }

    @ParameterizedTest
    @CsvSource({
        "write_bw_s1, 1024",
        "write_bw_s4096, 1024",
        "send_bw_s5000, 1024",
        "read_bw_s1, 1024",
        "read_bw_s5000, 1024",
        "atomic_fetch_add, 1024",
        "atomic_cmp_swap, 1024",
        "mtu2048_send_bw_s5000, 2048",
        "mtu4096_write_bw_s10000, 4096",
        "mtu4096_read_bw_s10000, 4096",
        "rcvec_ops, 1024"
    })
    void answersAreThoseOfSoftRoce(String capture, int mtu) {
        read(capture);
        Lab.Node server = lab.addRoce(RocePackets.mtu(mtu), plain -> plain);
        ProtectionDomain domain = server.device.allocProtectionDomain();
        CompletionQueue done = server.device.createCompletionQueue(256);
        // Soft-RoCE never gives credits, and ours does not when the receives are shared.
        SharedReceiveQueue receives = server.device.createSharedReceiveQueue(domain, 64, 1, 0);
        QueuePair qp =
                server.device
                        .connectByHand()
                        .createQueuePair(
                                domain,
                                QueuePairOptions.of(done, done)
                                        .sharedReceiveQueue(receives)
                                        .build());
        MemoryRegion region =
                domain.register(Arena.ofAuto().allocate(REGION_BYTES, PAGE), Access.ALL);
        doomedKey = domain.register(Arena.ofAuto().allocate(8), Access.ALL).rkey();
        int firstPsn = Bth.psn(memory(requests.get(0)), 0);
        qp.connect(new RoceConnect(client, clientQpn, firstPsn, mtu, 16));
        ReceiveRequest receive = new ReceiveRequest();
        for (int i = 0; i < 32; i++) {
            Pair.must(i, receives.post(receive.wrId(i).local(region, 1 << 16, 8192)));
        }
        lab.addFault(
                packet -> {
                    answers.add(Answer.of(packet.bytes));
                    return 0;
                });
        lab.advance(1);
        List<byte[]> withAddress = requests.stream().filter(RoceGoldenTest::hasAddress).toList();
        long lowest = withAddress.stream().mapToLong(r -> memory(r).i64(VA_AT)).min().orElse(0);
        long base = lowest & -PAGE;
        int key = withAddress.isEmpty() ? 0 : memory(withAddress.get(0)).i32(RKEY_AT);
        int qpn = qp.localEnd().qpn();
        for (byte[] request : requests) {
            byte[] ours = rewritten(request, qpn, base, region, key);
            lab.deliverNow(client, server, ours);
        }

        assertThat(golden).isNotEmpty();
        assertThat(answers).containsExactlyElementsOf(golden);
    }
}
