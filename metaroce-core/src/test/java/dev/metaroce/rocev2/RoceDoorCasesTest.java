package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.AtomicEth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.Deth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.Reth;
import dev.metaroce.wire.roce.RoceDoor;
import dev.metaroce.wire.roce.Syndrome;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.function.UnaryOperator;

/** Cases W02 to W05 for RoCEv2: what a live endpoint does with packets that are not right. */
class RoceDoorCasesTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int MTU = 1_024;
    private static final int PAYLOAD = 61;
    private static final int VERSION_AT = 1;
    private static final int REGION_BYTES = 1 << 18;

    private final Pair pair =
            Pair.ofRoce(3, RocePackets.mtu(MTU), UnaryOperator.identity(), 1, REGION_BYTES)
                    .connect();

    private int answers;

    RoceDoorCasesTest() {
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(
                packet -> {
                    answers += packet.from == pair.server ? 1 : 0;
                    return 1;
                });
    }

    /** A packet of the client for the server, right in all its fields. */
    private byte[] packet(RcOpcode opcode) {
        boolean full = opcode.hasPayload() && !opcode.isLast();
        int payload = opcode.isDatagram() ? 256 : full ? MTU : opcode.hasPayload() ? PAYLOAD : 0;
        PacketMemory m = new PacketMemory(Icrc.MAX_PACKET_BYTES);
        RoceConnect client = pair.clientEnd.qp().localEnd();
        int qpn = opcode.isDatagram() ? 1 : pair.serverEnd.qp().localEnd().qpn();
        boolean asks = opcode.isRequest();
        Bth.encode(m, 0, opcode, 0, payload, Bth.DEFAULT_PKEY, qpn, asks, client.psn());
        long va = pair.serverEnd.region.address();
        int rkey = pair.serverEnd.region.rkey();
        if (opcode.hasReth()) {
            Reth.encode(m, 0, va, rkey, full ? 2 * MTU : PAYLOAD);
        }
        if (opcode.isAtomic()) {
            AtomicEth.encode(m, 0, va, rkey, 1, 2);
        }
        if (opcode.hasAeth()) {
            Aeth.encode(m, 0, Syndrome.ACK_NO_CREDITS, 0);
        }
        if (opcode.isDatagram()) {
            Deth.encode(m, 0, Deth.QP1_QKEY, 1);
            new CmMessage.Rtu(1, 2, 3).encode(m, 0);
        }
        return sealed(m, opcode.headerBytes(), payload);
    }

    private byte[] sealed(PacketMemory m, int headerBytes, int payloadBytes) {
        Icrc icrc = new Icrc();
        icrc.flow(pair.client.address, pair.server.address);
        icrc.seal(m, 0, headerBytes, payloadBytes);
        int pad = Bth.padBytes(payloadBytes);
        byte[] bytes = new byte[headerBytes + payloadBytes + pad + Icrc.BYTES];
        m.bytes().get(0, bytes);
        return bytes;
    }

    /** The bytes before the ICRC, cut or filled up with zeros to this length, and a right ICRC. */
    private byte[] resized(byte[] packet, int bytesWithIcrc) {
        PacketMemory m = new PacketMemory(bytesWithIcrc + 4);
        byte[] covered =
                Arrays.copyOf(
                        Arrays.copyOf(packet, packet.length - Icrc.BYTES),
                        bytesWithIcrc - Icrc.BYTES);
        m.bytes().put(0, covered);
        return Arrays.copyOf(sealedOddly(m, covered.length), bytesWithIcrc);
    }

    /** A right ICRC behind any number of bytes. */
    private byte[] sealedOddly(PacketMemory m, int covered) {
        Icrc icrc = new Icrc();
        icrc.flow(pair.client.address, pair.server.address);
        // The payload is none and all is header, so nothing is filled up.
        icrc.seal(m, 0, covered, 0);
        byte[] bytes = new byte[covered + Icrc.BYTES];
        m.bytes().get(0, bytes);
        return bytes;
    }

    private void deliver(byte[] packet) {
        pair.lab.deliverNow(pair.client.address, pair.server, packet);
    }

    private long refused() {
        return pair.server.count(CounterId.MALFORMED) + pair.server.count(CounterId.ICRC_ERRORS);
    }

    @Test
    @DisplayName("W02: what routers change passes; any other bit that is wrong is counted")
    void w02FlippedBitsAreCountedOneByOne() {
        byte[] whole = packet(RcOpcode.WRITE_ONLY);
        // P_Key; destination; PSN; payload; ICRC.
        int[] covered = {2, 3, 5, 6, 7, 9, 10, 11, 30, 60, whole.length - 5, whole.length - 1};
        long errors = 0;
        for (int at : covered) {
            byte[] flipped = whole.clone();
            flipped[at] ^= 0x10;
            deliver(flipped);
            assertThat(pair.server.count(CounterId.ICRC_ERRORS)).isEqualTo(++errors);
        }
        assertThat(answers).isZero();
        byte[] marked = whole.clone();
        marked[4] = (byte) 0xFF;
        deliver(marked);
        assertThat(pair.server.count(CounterId.ICRC_ERRORS)).isEqualTo(errors);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isEqualTo(1);
    }

    @Test
    @DisplayName("W03: every prefix of every packet is counted, not answered, and does no harm")
    void w03TruncatedPacketsAreCountedAndDoNoHarm() {
        pair.write(0, 1, 0, REGION_BYTES);
        pair.lab.driveUntil(() -> answers > 0, SECOND_NS);
        int before = answers;
        long prefixes = 0;
        for (RcOpcode opcode : RcOpcode.values()) {
            byte[] whole = packet(opcode);
            PacketMemory m = new PacketMemory(whole.length);
            m.bytes().put(0, whole);
            assertThat(RoceDoor.checkHeaders(m, 0, whole.length)).hasToString("OK");
            for (int length = 0; length < whole.length; length++) {
                deliver(Arrays.copyOf(whole, length));
                prefixes++;
            }
        }
        assertThat(refused()).isEqualTo(prefixes);
        assertThat(answers).isEqualTo(before);
        pair.expectSends(1, SECOND_NS);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @Test
    @DisplayName("W04: a completion tells the bytes sent, and none beyond them is touched")
    void w04LengthsAreExact() {
        int[] sizes = {0, 1, 2, 3, 4, 5, 63, 64, 65, MTU - 1, MTU, MTU + 1};
        int room = 2 * MTU;
        byte canary = (byte) 0xA5;
        pair.serverEnd.region.segment().fill(canary);
        for (int i = 0; i < 2 * sizes.length; i++) {
            pair.receive(0, i, (long) i * room, room);
        }
        for (int i = 0; i < sizes.length; i++) {
            pair.send(0, i, (long) 2 * i * room, sizes[i]);
            long at = (long) (30 + i) * room;
            Pair.must(
                    100 + i,
                    pair.clientEnd
                            .qp()
                            .postWriteWithImmediate(
                                    100 + i,
                                    pair.clientEnd.region,
                                    at,
                                    sizes[i],
                                    pair.serverEnd.region.address() + at,
                                    pair.serverEnd.region.rkey(),
                                    0xC0FFEE + i,
                                    true));
        }
        pair.expectSends(2 * sizes.length, SECOND_NS);
        pair.expectReceives(2 * sizes.length, SECOND_NS);

        for (int i = 0; i < sizes.length; i++) {
            // Sends and writes alternate; each took the next receive.
            WorkCompletion ofSend = pair.serverEnd.receives.get(2 * i);
            assertThat(ofSend.byteLength()).isEqualTo(sizes[i]);
            checkPlaced((long) 2 * i * room, sizes[i], room, canary);
            WorkCompletion ofWrite = pair.serverEnd.receives.get(2 * i + 1);
            assertThat(ofWrite.byteLength()).isEqualTo(sizes[i]);
            assertThat(ofWrite.immediate()).isEqualTo(0xC0FFEE + i);
            checkPlaced((long) (30 + i) * room, sizes[i], room, canary);
        }
        assertThat(pair.clientEnd.sends).allMatch(wc -> wc.status() == WcStatus.SUCCESS);
    }

    private void checkPlaced(long at, int size, int room, byte rest) {
        MemorySegment sent = pair.clientEnd.region.segment();
        MemorySegment got = pair.serverEnd.region.segment();
        assertThat(MemorySegment.mismatch(sent, at, at + size, got, at, at + size)).isEqualTo(-1);
        for (long i = size; i < room; i++) {
            assertThat(got.get(ValueLayout.JAVA_BYTE, at + i)).isEqualTo(rest);
        }
    }

    @Test
    @DisplayName("W04: packets whose pad count and length disagree are counted and not answered")
    void w04PadThatDisagreesIsRefused() {
        pair.serverEnd.region.segment().fill((byte) 0xA5);
        long bad = 0;
        for (RcOpcode opcode : RcOpcode.values()) {
            byte[] whole = packet(opcode);
            for (int pad = 0; pad < 4; pad++) {
                byte[] padded = whole.clone();
                padded[VERSION_AT] = (byte) (pad << 4);
                for (int odd = 1; odd < 4; odd++) {
                    deliver(resized(padded, whole.length + odd));
                    bad++;
                }
                boolean full = !opcode.isLast() || !opcode.hasPayload();
                if (pad != 0 && full) {
                    deliver(resized(padded, whole.length));
                    bad++;
                }
                if (pad != 0) {
                    deliver(resized(padded, opcode.headerBytes() + Icrc.BYTES));
                    bad++;
                }
            }
            if (!opcode.hasPayload()) {
                deliver(resized(whole, whole.length + 4));
                bad++;
            }
        }
        assertThat(pair.server.count(CounterId.MALFORMED)).isEqualTo(bad);
        assertThat(answers).isZero();
        assertThat(pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(0xA5);
    }

    @Test
    @DisplayName("W04: a WRITE whose RETH has another length than its payload changes nothing")
    void w04LengthOfTheHeaderThatDisagreesIsRefused() {
        pair.serverEnd.region.segment().fill((byte) 0xA5);
        byte[] whole = packet(RcOpcode.WRITE_ONLY);
        PacketMemory m = new PacketMemory(whole.length);
        m.bytes().put(0, whole);
        Reth.encode(m, 0, Reth.va(m, 0), Reth.rkey(m, 0), PAYLOAD + 1);
        deliver(sealed(m, RcOpcode.WRITE_ONLY.headerBytes(), PAYLOAD));

        assertThat(pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(0xA5);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 8, 15})
    @DisplayName("W05: other transport versions are dropped in silence and counted")
    void w05OtherVersionsAreDropped(int version) {
        long dropped = 0;
        for (RcOpcode opcode : RcOpcode.values()) {
            byte[] packet = packet(opcode);
            packet[VERSION_AT] |= (byte) version;
            deliver(resized(packet, packet.length));
            assertThat(pair.server.count(CounterId.BAD_VERSION)).isEqualTo(++dropped);
        }
        assertThat(refused()).isZero();
        assertThat(answers).isZero();
    }
}
