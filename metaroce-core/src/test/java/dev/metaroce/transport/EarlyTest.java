package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Occupant;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** 0-RTT: the message that rides in the REQUEST for its lease, in quiet and in trouble. */
class EarlyTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long WAY_NS = 50_000;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    /** A connection without leases, on which everything rides that fits. */
    static Pair idle(DeviceLimits client, DeviceLimits server) {
        Pair pair = new Pair(1, client, server, 2, 1 << 16).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        expectIdle(pair);
        return pair;
    }

    static void expectIdle(Pair pair) {
        pair.lab.expect(
                "no lease",
                () ->
                        pair.clientEnd.connection.cid() < 0
                                && pair.server.device.contextsInUse() == 0,
                3 * SECOND);
    }

    static Pair idle() {
        return idle(DEFAULTS, DEFAULTS);
    }

    static long accepted(Pair pair) {
        return pair.server.count(CounterId.EARLY_ACCEPTED);
    }

    /** Lets the first {@code count} packets of a kind vanish. */
    private static void drop(Pair pair, ControlOpcode opcode, int count) {
        int[] left = {count};
        pair.lab.addFault(packet -> RawPacket.is(packet.bytes, opcode) && left[0]-- > 0 ? 0 : 1);
    }

    /** Copies of the client's REQUESTs, as sent from now on. */
    static List<Lab.Packet> record(Pair pair) {
        List<Lab.Packet> requests = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (packet.from == pair.client
                            && RawPacket.is(packet.bytes, ControlOpcode.REQUEST)) {
                        requests.add(pair.lab.copy(packet, packet.bytes.clone()));
                    }
                    return 1;
                });
        return requests;
    }

    private static long timeOfWriteNs(Pair pair, int sends) {
        long startNs = pair.lab.nowNs();
        pair.write(0, sends, 0, 64);
        pair.expectSends(sends, SECOND);
        return pair.lab.nowNs() - startNs;
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void anIdleConnectionWritesInOneRoundTripAsAWarmOneDoes(Profile profile) {
        for (boolean early : new boolean[] {true, false}) {
            DeviceLimits limits = Profiles.only(profile).earlyData(early).build();
            Pair pair = new Pair(1, limits, 1, 4096);
            pair.lab.latencyNs(WAY_NS);
            pair.clientEnd.fill(pair.lab.rng("data"));
            pair.connect();
            expectIdle(pair);

            long coldNs = timeOfWriteNs(pair, 1);
            long warmNs = timeOfWriteNs(pair, 2);
            assertThat(warmNs).isEqualTo(2 * WAY_NS);
            assertThat(coldNs).isEqualTo(early ? warmNs : warmNs + 2 * WAY_NS);
            assertThat(accepted(pair)).isEqualTo(early ? 1 : 0);
            assertThat(pair.clientEnd.region.segment().asSlice(0, 64))
                    .matches(
                            sent ->
                                    sent.mismatch(pair.serverEnd.region.segment().asSlice(0, 64))
                                            == -1);
            expectIdle(pair);
            assertThat(pair.server.device.contextsInUse()).isZero();
        }
    }

    // MR-3.7-1
    @ParameterizedTest
    @EnumSource(Profile.class)
    void everyKindOfMessageRides(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).build();
        Pair pair = idle(limits, limits);
        for (int i = 0; i < 4; i++) {
            pair.receive(0, i, 4096 + 64 * i, 64);
        }
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        expectIdle(pair);
        Pair.must(
                2,
                pair.clientEnd
                        .qp()
                        .postWriteWithImmediate(
                                2,
                                pair.clientEnd.region,
                                64,
                                64,
                                pair.serverEnd.region.address() + 64,
                                pair.serverEnd.region.rkey(),
                                22,
                                true));
        pair.expectSends(2, SECOND);
        expectIdle(pair);
        pair.send(0, 3, 4096 + 64, 64);
        pair.expectSends(3, SECOND);
        expectIdle(pair);
        Pair.must(
                4,
                pair.clientEnd
                        .qp()
                        .postSendWithImmediate(4, pair.clientEnd.region, 4096 + 128, 64, 44, true));
        pair.expectSends(4, SECOND);
        expectIdle(pair);
        pair.send(0, 5, 0, 0);
        pair.expectSends(5, SECOND);

        assertThat(accepted(pair)).isEqualTo(5);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isZero();
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.receives)
                .extracting(wc -> wc.byteLength())
                .containsExactly(64L, 64L, 64L, 0L);
        assertThat(pair.serverEnd.receives)
                .extracting(wc -> wc.immediate())
                .containsExactly(22, 0, 44, 0);
        assertThat(same(pair, 0, 128)).isTrue();
        assertThat(same(pair, 4096 + 64, 128)).isTrue();
    }

    @Test
    void aSendThatEndsAKeyRides() {
        Pair pair = idle();
        MemoryRegion key = pair.serverEnd.domain.register(Arena.ofAuto().allocate(64), Access.ALL);
        pair.receive(0, 1, 0, 64);
        SendRequest request = new SendRequest().local(pair.clientEnd.region, 0, 64);
        Pair.must(1, pair.clientEnd.qp().post(request.sendWithInvalidate(key.rkey())));
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(key.isRevoked()).isTrue();
        assertThat(same(pair, 0, 64)).isTrue();
    }

    static boolean same(Pair pair, long offset, long length) {
        return pair.clientEnd
                        .region
                        .segment()
                        .asSlice(offset, length)
                        .mismatch(pair.serverEnd.region.segment().asSlice(offset, length))
                == -1;
    }

    // MR-3.7-2
    @Test
    void theLongestThatRidesIsAsLongAsTheLongestDataPacket() {
        Pair pair = idle();
        int room = DEFAULTS.payloadMtu() + 56 - 192 - 48 - 4;
        List<Lab.Packet> requests = record(pair);
        pair.write(0, 1, 0, room);
        pair.expectSends(1, SECOND);
        assertThat(requests.getFirst().bytes).hasSize(DEFAULTS.payloadMtu() + 56);
        expectIdle(pair);
        pair.write(0, 2, 0, room + 1);
        pair.expectSends(2, SECOND);
        assertThat(requests.getLast().bytes).hasSize(ControlMessage.REQUEST_BYTES);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(same(pair, 0, room + 1)).isTrue();
    }

    /** The messages behind the one that rode are numbered on, on its stream and on the other. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void moreMessagesFollowUnderTheLease(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).build();
        Pair pair = idle(limits, limits);
        for (int i = 0; i < 8; i++) {
            pair.receive(i % 2, i, 64L * i, 64);
        }
        for (int i = 0; i < 8; i++) {
            pair.send(i % 2, i, 64L * i, 64);
        }
        pair.expectSends(8, SECOND);
        pair.expectReceives(8, SECOND);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.NAKS_SENT)).isZero();
        assertThat(same(pair, 0, 512)).isTrue();
        expectIdle(pair);
        assertThat(pair.server.count(CounterId.EXPIRED)).isZero();
        assertThat(pair.server.count(CounterId.RESETS_SENT)).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eitherSideCanDoWithout(boolean clientWants) {
        DeviceLimits off = DEFAULTS.toBuilder().earlyData(false).build();
        Pair pair = clientWants ? idle(DEFAULTS, off) : idle(off, DEFAULTS);
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        assertThat(accepted(pair)).isZero();
        assertThat(pair.client.count(CounterId.EARLY_SENT)).isEqualTo(clientWants ? 1 : 0);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(1);
    }

    @Test
    void aVirtualRegionSendsItsLength() {
        Pair pair = Pair.ofVirtual(1, DEFAULTS, 1, 1 << 16, true).connect();
        expectIdle(pair);
        pair.receive(0, 1, 0, 4096);
        pair.send(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(4096);
    }

    // Lost answers

    // MR-3.7-8
    @Test
    void aLostGrantComesAgainAndSaysTheSame() {
        Pair pair = idle();
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 64, 64);
        drop(pair, ControlOpcode.GRANT, 2);
        pair.send(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        pair.lab.advance(SECOND);
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.receives).hasSize(1);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.EARLY_SENT)).isEqualTo(3);
    }

    /** The context is gone before any GRANT gets through; the DENY that says so is lost as well. */
    // MR-3.7-9
    @Test
    void aDenySaysThatTheMessageWasExecutedWhenItsLeaseIsGone() {
        DeviceLimits impatient = DEFAULTS.toBuilder().silenceNs(10 * MS).build();
        Pair pair = idle(DEFAULTS, impatient);
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 64, 64);
        pair.lab.addFault(packet -> RawPacket.is(packet.bytes, ControlOpcode.GRANT) ? 0 : 1);
        drop(pair, ControlOpcode.DENY, 1);
        pair.send(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        assertThat(pair.server.count(CounterId.DENIED)).isEqualTo(2);
        assertThat(pair.server.count(CounterId.EXPIRED)).isEqualTo(1);
        pair.lab.heal();
        pair.lab.advance(SECOND);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.REQUESTS_SENT))
                .as("nothing was left to ask for")
                .isEqualTo(1 + pair.client.count(CounterId.EARLY_SENT) + 1);

        pair.send(0, 2, 64, 64);
        pair.expectSends(2, SECOND);
        pair.expectReceives(2, SECOND);
        assertThat(same(pair, 0, 128)).isTrue();
    }

    /** What follows the executed message waits for the next lease. */
    @Test
    void moreMessagesFollowADenyThatSaysSo() {
        DeviceLimits impatient = DEFAULTS.toBuilder().silenceNs(10 * MS).build();
        Pair pair = idle(DEFAULTS, impatient);
        for (int i = 0; i < 4; i++) {
            pair.receive(0, i, 64L * i, 64);
        }
        pair.lab.addFault(
                packet ->
                        RawPacket.is(packet.bytes, ControlOpcode.GRANT)
                                        && pair.server.count(CounterId.EXPIRED) == 0
                                ? 0
                                : 1);
        for (int i = 0; i < 4; i++) {
            pair.send(0, i, 64L * i, 64);
        }
        pair.expectSends(4, SECOND);
        pair.expectReceives(4, SECOND);
        pair.lab.advance(SECOND);
        assertThat(pair.serverEnd.receives).hasSize(4);
        assertThat(same(pair, 0, 256)).isTrue();
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    /**
     * The lease is asked back while its GRANT is still on the way: the holder-to-be keeps quiet.
     */
    // MR-3.7-11
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aReclaimThatOvertakesTheGrantHarmsNothing(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).contexts(1).build();
        Pair pair = idle(limits, limits);
        for (int i = 0; i < 3; i++) {
            pair.receive(0, i, 64L * i, 64);
        }
        pair.lab.addFault(
                packet -> {
                    boolean slow =
                            RawPacket.is(packet.bytes, ControlOpcode.GRANT)
                                    && packet.destination.equals(pair.client.address);
                    packet.delayNs += slow ? 8 * MS : 0;
                    return 1;
                });
        for (int i = 0; i < 3; i++) {
            pair.send(0, i, 64L * i, 64);
        }
        pair.lab.advance(MS / 10);
        Lab.Node other = pair.lab.add(DEFAULTS);
        pair.server.device.listen(8, request -> request.accept(request.privateData()));
        var waiting = other.device.connect(pair.server.address, 8, new byte[0]);
        pair.lab.advance(3 * MS);
        assertThat(pair.server.count(CounterId.RECLAIMS)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.GRANTS)).isZero();

        pair.expectSends(3, SECOND);
        pair.expectReceives(3, SECOND);
        pair.lab.expect("the other", () -> waiting.state() == ConnectionState.OPEN, SECOND);
        assertThat(pair.client.count(CounterId.RESETS_RECEIVED)).isZero();
        assertThat(same(pair, 0, 192)).isTrue();
    }

    /** No DATA came of a lease whose message was executed: what follows may be sent again. */
    // MR-3.2-10
    @Test
    void aLeaseThatIsTakenBackBeforeDataCameIsResetAsUnused() {
        DeviceLimits impatient = DEFAULTS.toBuilder().silenceNs(20 * MS).build();
        DeviceLimits lingering = DEFAULTS.toBuilder().lingerNs(SECOND).build();
        Pair pair = idle(lingering, impatient);
        for (int i = 0; i < 3; i++) {
            pair.receive(0, i, 64L * i, 64);
        }
        pair.lab.addFault(packet -> RawPacket.is(packet.bytes, ControlOpcode.KEEPALIVE) ? 0 : 1);
        for (int i = 0; i < 3; i++) {
            pair.send(0, i, 64L * i, 64);
            pair.expectSends(i + 1, SECOND);
            pair.lab.advance(i == 0 ? 100 * MS : 0);
        }
        assertThat(accepted(pair)).isEqualTo(2);
        assertThat(pair.client.count(CounterId.RESETS_RECEIVED)).isEqualTo(1);
        pair.expectReceives(3, SECOND);
        pair.lab.advance(SECOND);
        assertThat(pair.serverEnd.receives).hasSize(3);
        assertThat(same(pair, 0, 192)).isTrue();
    }

    // Refused

    @ParameterizedTest
    @EnumSource(Profile.class)
    void withoutAReceiveItComesAsDataAndWaits(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).build();
        Pair pair = idle(limits, limits);
        pair.send(0, 1, 0, 64);
        pair.send(0, 2, 64, 64);
        pair.lab.advance(MS);
        assertThat(accepted(pair)).isZero();
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isPositive();
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 64, 64);
        pair.expectSends(2, SECOND);
        pair.expectReceives(2, SECOND);
        assertThat(same(pair, 0, 128)).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aWrongKeyIsReportedAsUsual(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).build();
        Pair pair = idle(limits, limits);
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postWrite(
                                1,
                                pair.clientEnd.region,
                                0,
                                64,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey() + 1));
        pair.lab.advance(10 * MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(accepted(pair)).isZero();
        pair.write(1, 2, 64, 64);
        pair.lab.advance(SECOND);
        assertThat(same(pair, 64, 64)).isTrue();
    }

    @Test
    void aMessageLongerThanItsReceiveIsReportedAsUsual() {
        Pair pair = idle();
        pair.receive(0, 1, 0, 32);
        pair.send(0, 1, 0, 64);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();
        pair.serverEnd.poll();
        assertThat(pair.clientEnd.sends)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        assertThat(pair.serverEnd.receives)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.LOCAL_LENGTH_ERROR);
    }

    /** The memory of the message goes while the REQUEST is repeated. */
    @Test
    void aClosedRegionReachesNobody() {
        Pair pair = idle();
        pair.receive(0, 1, 0, 64);
        pair.lab.addFault(packet -> packet.from == pair.client ? 0 : 1);
        pair.send(0, 1, 0, 64);
        pair.lab.advance(MS);
        pair.clientEnd.region.close();
        pair.lab.heal();
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.LOCAL_PROTECTION_ERROR);
        assertThat(accepted(pair)).isZero();
        assertThat(pair.server.count(CounterId.BAD_CRC)).isEqualTo(1);
        assertThat(pair.server.device.contextsInUse()).isZero();
    }

    // MR-3.7-5
    @Test
    void aWayThatSwallowsLongPacketsGetsTheRequestWithoutItsMessage() {
        Pair pair = idle();
        pair.lab.addFault(packet -> packet.length() > 1_000 ? 0 : 1);
        pair.receive(0, 1, 0, 4096);
        pair.send(1, 1, 0, 4096);
        pair.lab.expect("a lease", () -> pair.clientEnd.connection.cid() >= 0, SECOND);
        assertThat(pair.client.count(CounterId.EARLY_SENT)).isEqualTo(3);
    }

    // Crowds

    @Test
    void aMessageWhoseRequestHasToWaitIsNotKept() {
        DeviceLimits one = DEFAULTS.toBuilder().contexts(1).build();
        Pair pair = idle(DEFAULTS, one);
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 64, 64);
        Occupant occupant = new Occupant(pair.lab, pair.server, 1);
        pair.send(0, 1, 0, 64);
        pair.send(0, 2, 64, 64);
        pair.lab.advance(500 * MS);
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.receives).isEmpty();
        assertThat(pair.client.count(CounterId.EARLY_SENT)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.REQUESTS_SENT)).isGreaterThan(3);
        occupant.leave();
        pair.expectSends(2, SECOND);
        pair.expectReceives(2, SECOND);
        assertThat(accepted(pair)).isZero();
        assertThat(same(pair, 0, 128)).isTrue();
    }

    @Test
    void aRequestThatFollowsADenialCarriesNothing() {
        DeviceLimits denying =
                DEFAULTS.toBuilder().contexts(1).policy(ExhaustionPolicy.DENY).build();
        Pair pair = idle(DEFAULTS, denying);
        pair.receive(0, 1, 0, 64);
        Occupant occupant = new Occupant(pair.lab, pair.server, 1);
        pair.send(0, 1, 0, 64);
        pair.lab.advance(100 * MS);
        assertThat(pair.server.count(CounterId.DENIED)).isGreaterThan(3);
        assertThat(pair.client.count(CounterId.EARLY_SENT)).isEqualTo(1);
        occupant.leave();
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);
    }

    /** C06 with 0-RTT: four senders of small messages take turns in the only context. */
    @ParameterizedTest
    @ValueSource(longs = {0, 10 * MS})
    void c06OneContextServesFourInTurn(long lingerNs) {
        DeviceLimits one = DEFAULTS.toBuilder().contexts(1).packetLifetimeNs(MS).build();
        Peers peers = new Peers(6, one, 4, 4096, 4);
        peers.add(4, DEFAULTS.toBuilder().lingerNs(lingerNs).build());
        peers.expectOpen(SECOND);
        peers.expectNoContexts(SECOND);
        for (int round = 0; round < 50; round++) {
            peers.clients.forEach(client -> client.write(64));
            peers.expectDone(SECOND);
            peers.lab.advance(round % 3 * MS);
        }
        assertThat(peers.server.count(CounterId.EARLY_ACCEPTED)).isGreaterThanOrEqualTo(50);
        assertThat(peers.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(4 * 50 * 64);
        assertThat(peers.server.count(CounterId.RESETS_SENT)).isZero();
    }

    /** A pool that is almost full gets the context back with the GRANT, as with an ACK. */
    // MR-3.3-9
    @Test
    void aCrowdedPoolGetsTheContextBackAtOnce() {
        DeviceLimits one = DEFAULTS.toBuilder().contexts(1).build();
        Pair pair = idle(DEFAULTS.toBuilder().lingerNs(SECOND).build(), one);
        pair.lab.advance(SECOND);
        expectIdle(pair);
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, MS);
        pair.expectNoContexts(MS);
        assertThat(accepted(pair)).isEqualTo(1);
    }
}
