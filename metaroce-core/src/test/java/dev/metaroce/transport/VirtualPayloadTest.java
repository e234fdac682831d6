package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;

/** Messages whose payload is a length: the same protocol, and nothing copied. */
class VirtualPayloadTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int REGION_BYTES = 1 << 20;
    private static final int MESSAGES = 60;

    private final Rng rng = new Rng(3);

    private static Pair pair(Profile profile, boolean virtualTarget) {
        DeviceLimits limits = Profiles.only(profile).build();
        return Pair.ofVirtual(11, limits, 3, REGION_BYTES, virtualTarget).connect();
    }

    /** Of every length from nothing to many packets. */
    private long length(int message) {
        return message % 5 == 0 ? message / 5 : rng.nextInt(40_000);
    }

    private static WcStatus writeOutcome(Pair pair, long va, long length) {
        QueuePair qp = pair.clientEnd.qp();
        int rkey = pair.serverEnd.region.rkey();
        Pair.must(1, qp.postWrite(1, pair.clientEnd.region, 0, length, va, rkey));
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                SECOND);
        return pair.clientEnd.sends.get(0).status();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void everyOperationCompletesOverALossyLink(Profile profile) {
        Pair pair = pair(profile, true);
        Rng loss = new Rng(5);
        AtomicInteger travelled = new AtomicInteger();
        pair.lab.addFault(
                packet -> {
                    travelled.accumulateAndGet(packet.bytes.length, Math::max);
                    return loss.chance(0.03) ? 0 : 1;
                });
        long[] sent = new long[MESSAGES];
        long[] immediates = new long[MESSAGES];
        long bytes = 0;
        for (int i = 0; i < MESSAGES; i++) {
            sent[i] = length(i);
            immediates[i] = length(i);
            bytes += 2 * sent[i] + immediates[i];
            pair.receive(1, i, 0, sent[i]);
            pair.receive(2, i, 0, 0);
            pair.write(0, i, 0, sent[i]);
            pair.send(1, i, 0, sent[i]);
            writeWithImmediate(pair, i, immediates[i]);
        }
        pair.expectSends(3 * MESSAGES, 20 * SECOND);
        pair.expectReceives(2 * MESSAGES, 20 * SECOND);

        for (WorkCompletion wc : pair.serverEnd.receives) {
            int i = (int) wc.wrId();
            assertThat(wc.byteLength()).isEqualTo(wc.hasImmediate() ? immediates[i] : sent[i]);
            assertThat(wc.immediate()).isEqualTo(wc.hasImmediate() ? i : 0);
        }
        assertThat(pair.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(bytes);
        assertThat(pair.server.count(CounterId.RX_BYTES)).isGreaterThan(bytes);
        assertThat(pair.client.count(CounterId.TX_BYTES)).isGreaterThan(bytes);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isPositive();
        // Nothing was ever longer than an ACK that tells of holes on all eight paths.
        assertThat(travelled.get()).isLessThan(600);
    }

    private static void writeWithImmediate(Pair pair, int i, long length) {
        Pair.must(
                i,
                pair.clientEnd
                        .pairs
                        .get(2)
                        .postWriteWithImmediate(
                                i,
                                pair.clientEnd.region,
                                0,
                                length,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey(),
                                i,
                                true));
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void boundsAreThoseOfAnyRegion(Profile profile) {
        long end = REGION_BYTES;
        assertThat(outcomeAt(profile, end - 4096, 4096)).isEqualTo(WcStatus.SUCCESS);
        assertThat(outcomeAt(profile, end - 4096, 4097)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(outcomeAt(profile, -1, 1)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(outcomeAt(profile, end, 1)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
    }

    private static WcStatus outcomeAt(Profile profile, long offset, long length) {
        Pair pair = pair(profile, true);
        return writeOutcome(pair, pair.serverEnd.region.address() + offset, length);
    }

    @Test
    void aSendTooLongForItsVirtualReceiveIsRefused() {
        Pair pair = pair(Profile.M, true);
        pair.receive(0, 1, 0, 999);
        pair.send(0, 1, 0, 1000);
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                SECOND);

        assertThat(pair.clientEnd.sends.get(0).status())
                .isEqualTo(WcStatus.REMOTE_INVALID_REQUEST_ERROR);
    }

    @Test
    void anElidedPayloadIsRefusedWhereBytesAreWanted() {
        Pair pair = pair(Profile.M, false);
        pair.serverEnd.region.segment().fill((byte) 0x5A);

        WcStatus status = writeOutcome(pair, pair.serverEnd.region.address(), 1000);

        assertThat(status).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(0x5A);
    }

    @Test
    void aDamagedHeaderIsABadChecksum() {
        Pair pair = pair(Profile.M, true);
        pair.lab.addFault(new Damage());
        pair.write(0, 1, 0, 100_000);
        pair.expectSends(1, SECOND);

        assertThat(pair.server.count(CounterId.BAD_CRC)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.MALFORMED)).isZero();
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isPositive();
    }

    /** One bit of the length of the third message packet is turned. */
    private static final class Damage implements Lab.Fault {
        private int seen;

        @Override
        public int onPacket(Lab.Packet packet) {
            if ((packet.bytes[0] & 0xF) == PacketType.DATA.code() && ++seen == 3) {
                packet.bytes[CommonHeader.BYTES + 11] ^= 0x10;
            }
            return 1;
        }
    }

    @Test
    void aPortThatCopiesCannotSendFromAVirtualRegion() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 4096).connect();
        MemoryRegion virtual = pair.clientEnd.domain.registerVirtual(1 << 20, Access.ALL);
        QueuePair qp = pair.clientEnd.qp();
        long va = pair.serverEnd.region.address();
        Pair.must(1, qp.postWrite(1, virtual, 0, 64, va, pair.serverEnd.region.rkey()));
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                SECOND);

        assertThat(pair.clientEnd.sends.get(0).status()).isEqualTo(WcStatus.LOCAL_PROTECTION_ERROR);
    }

    @Test
    void bytesThatArriveAtAVirtualRegionAreDropped() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 16).connect();
        MemoryRegion virtual = pair.serverEnd.domain.registerVirtual(1 << 16, Access.ALL);
        QueuePair qp = pair.clientEnd.qp();
        Pair.must(
                1,
                qp.postWrite(
                        1, pair.clientEnd.region, 0, 50_000, virtual.address(), virtual.rkey()));
        pair.expectSends(1, SECOND);

        assertThat(pair.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(50_000);
    }
}
