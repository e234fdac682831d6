package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Spoken;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Cases C02 to C11: grants that get lost, peers that die, contexts that run out. */
class LifeCycleCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    @DisplayName("C02: a repeated request gets the same context again")
    void c02ALostGrantIsRepeated(int lost) {
        Pair pair = new Pair(2, DEFAULTS, 1, 1 << 16);
        List<Integer> tokens = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.is(packet.bytes, ControlOpcode.GRANT)) {
                        return 1;
                    }
                    tokens.add(packet.bytes[40] << 8 | packet.bytes[41] & 0xFF);
                    return tokens.size() <= lost ? 0 : 1;
                });
        long start = pair.lab.nowNs();
        pair.connect();
        // Retries after 10, 20 and 40 ms, each up to an eighth later.
        long retriesNs = ((1L << lost) - 1) * 10 * MS;

        assertThat(pair.lab.nowNs() - start).isLessThan(retriesNs * 12 / 10);
        assertThat(tokens).hasSize(lost + 1).containsOnly(tokens.get(0));
        assertThat(pair.server.count(CounterId.GRANTS)).isEqualTo(1);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
    }

    @Test
    @DisplayName("C03: the late answer of an abandoned attempt is ignored, its context comes back")
    void c03ALateGrantIsIgnored() {
        Pair pair = new Pair(3, DEFAULTS, 1, 1 << 20);
        List<Lab.Packet> held = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (held.isEmpty() && RawPacket.is(packet.bytes, ControlOpcode.GRANT)) {
                        held.add(packet);
                        return 0;
                    }
                    return 1;
                });
        pair.lab.driveUntil(() -> !held.isEmpty(), SECOND);
        // The application loses patience and dials again.
        pair.clientEnd.connection.close();
        Pair.End second = pair.dialAgain();
        pair.lab.expect(
                "second attempt", () -> second.connection.state() == ConnectionState.OPEN, SECOND);
        long stale = pair.client.count(CounterId.ACKS_STALE);
        pair.lab.inject(held.get(0));
        pair.lab.advance(MS);

        assertThat(pair.client.count(CounterId.ACKS_STALE)).isEqualTo(stale + 1);
        // The client tells the server at once; without a word it would come back by time-out.
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        second.fill(new Rng(3));
        Pair.must(
                1,
                second.qp()
                        .postWrite(
                                1,
                                second.region,
                                0,
                                1 << 20,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey()));
        pair.lab.expect("data on the second attempt", () -> second.sendQueue.size() == 1, SECOND);
        assertThat(second.region.segment().mismatch(pair.serverEnd.region.segment())).isEqualTo(-1);
        pair.expectNoContexts(DEFAULTS.silenceNs() * 2 * 12 / 10);
    }

    @Test
    @DisplayName("C04: data of an earlier holder never reaches the next one, for every context")
    void c04AStalePacketMissesTheNextHolder() {
        // The message is to come as DATA: a stale REQUEST is another story, see EarlyReplayTest.
        DeviceLimits limits =
                DEFAULTS.toBuilder().contexts(256).packetLifetimeNs(MS).earlyData(false).build();
        Pair pair = new Pair(4, limits, 1, 1 << 16).connect();
        pair.expectNoContexts(SECOND);
        Lab.Packet[] held = new Lab.Packet[1];
        boolean[] hold = new boolean[1];
        pair.lab.addFault(
                packet -> {
                    if (hold[0] && RawPacket.isData(packet.bytes)) {
                        held[0] = pair.lab.copy(packet, packet.bytes.clone());
                    }
                    return 1;
                });
        boolean[] seen = new boolean[256];
        for (int round = 0; round < 256; round++) {
            // The first holder's packet would write 0x11 to the first half.
            pair.clientEnd.region.segment().fill((byte) 0x11);
            hold[0] = true;
            pair.write(0, 0, 0, 4096);
            pair.expectSends(2 * round + 1, SECOND);
            hold[0] = false;
            int cid = RawPacket.ctx(held[0].bytes) >> 8;
            int psn = RawPacket.psn(held[0].bytes);
            seen[cid] = true;
            pair.expectNoContexts(SECOND);
            pair.serverEnd.region.segment().fill((byte) 0x5A);
            takeContext(pair, cid, psn);
            pair.clientEnd.region.segment().fill((byte) 0x22);
            pair.write(0, 1, 8192, 4096);
            pair.expectSends(2 * round + 2, SECOND);
            assertThat(pair.clientEnd.connection.cid()).isEqualTo(cid);
            long stale = pair.server.count(CounterId.STALE_CONTEXT);
            pair.lab.inject(held[0]);
            pair.lab.advance(MS / 10);

            assertThat(pair.server.count(CounterId.STALE_CONTEXT)).isEqualTo(stale + 1);
            assertThat(
                            pair.serverEnd
                                    .region
                                    .segment()
                                    .asSlice(0, 8192)
                                    .toArray(ValueLayout.JAVA_BYTE))
                    .containsOnly(0x5A);
            pair.expectNoContexts(SECOND);
        }
        assertThat(seen).containsOnly(true);
    }

    /**
     * Lets 255 short leases go by, so that the same context comes up again, and makes it start at
     * the same sequence number.
     */
    private static void takeContext(Pair pair, int cid, int psn) {
        CidPool pool = pair.server.engine.metaRoce().pool();
        for (int i = 0; i < pool.capacity() - 1; i++) {
            long grant = pool.request(pair.lab.nowNs(), 0, 0, 0, false);
            assertThat(CidPool.cid(grant)).isNotEqualTo(cid);
            pool.release(pair.lab.nowNs(), CidPool.cid(grant));
        }
        pair.server.forceKey(psn);
    }

    /** The peers die right after their grant, or after they sent for almost the silence time. */
    @ParameterizedTest
    @ValueSource(ints = {0, 19, 21})
    @DisplayName("C07: contexts of killed peers come back within the documented time")
    void c07ContextsOfKilledPeersComeBack(int rounds) {
        Peers peers = new Peers(7, DEFAULTS, 200, 1 << 16, 4);
        peers.add(200, DEFAULTS.toBuilder().lingerNs(100 * SECOND).build());
        for (Peers.Client client : peers.clients) {
            client.write(1 << 16);
        }
        peers.lab.expect(
                "all contexts in use", () -> peers.server.device.contextsInUse() == 200, SECOND);
        for (int round = 0; round < rounds; round++) {
            peers.lab.advance(DEFAULTS.silenceNs() / 20);
            peers.clients.forEach(client -> client.write(64));
            peers.expectDone(SECOND);
        }
        peers.clients.forEach(client -> client.node.kill());
        long start = peers.lab.nowNs();
        peers.expectNoContexts(10 * SECOND);

        assertThat(peers.lab.nowNs() - start)
                .isLessThanOrEqualTo(2 * DEFAULTS.silenceNs() * 12 / 10);
        CidPool pool = peers.server.engine.metaRoce().pool();
        long documentedNs = 2 * DEFAULTS.silenceNs() + DEFAULTS.giveUpNs();
        peers.lab.advance(start + documentedNs * 12 / 10 - peers.lab.nowNs());
        assertThat(pool.free()).isEqualTo(pool.capacity());
        assertThat(peers.server.engine.metaRoce().device().connectionCount()).isZero();
        assertThat(peers.server.count(CounterId.CONNECTIONS_FAILED)).isEqualTo(200);
    }

    /** Nothing is heard of the peer until its context is gone, and half the give-up time more. */
    @Test
    @DisplayName("C07: a peer that comes back in time goes on with another context")
    void c07WhoComesBackInTimeKeepsItsConnection() {
        DeviceLimits patient =
                DEFAULTS.toBuilder().lingerNs(100 * SECOND).giveUpNs(60 * SECOND).build();
        Pair pair = new Pair(7, patient, DEFAULTS, 1, 1 << 16).connect();
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        pair.lab.addFault(packet -> 0);
        pair.expectNoContexts(2 * DEFAULTS.silenceNs() * 12 / 10);
        pair.lab.advance(DEFAULTS.giveUpNs() / 2);
        pair.lab.heal();
        pair.write(0, 2, 4096, 4096);
        pair.expectSends(2, SECOND);
        pair.lab.advance(4 * DEFAULTS.giveUpNs());

        assertThat(pair.serverEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
        pair.write(0, 3, 8192, 4096);
        pair.expectSends(3, SECOND);
    }

    /** As C08 with one peer, but the application posts on. */
    @ParameterizedTest
    @EnumSource
    @DisplayName("C09: a dead peer is told in time though small writes are posted on and on")
    void c09PostingGoesOnThoughThePeerIsDead(Spoken spoken) {
        DeviceLimits limits = DEFAULTS.toBuilder().giveUpNs(2 * SECOND).build();
        Pair pair = spoken.pair(9, limits, 1 << 16).connect();
        pair.write(0, 0, 0, 64);
        pair.expectSends(1, SECOND);
        pair.server.kill();
        long killedNs = pair.lab.nowNs();
        Connection connection = pair.clientEnd.connection;
        for (int i = 1; connection.state() == ConnectionState.OPEN && i < 100; i++) {
            pair.write(0, i, 0, 64);
            pair.lab.advance(100 * MS);
        }

        assertThat(connection.state()).isEqualTo(ConnectionState.FAILED);
        assertThat(pair.lab.nowNs() - killedNs).isBetween(16 * SECOND / 10, 24 * SECOND / 10);
        assertThat(connection.failure()).contains(hostOf(pair.server));
        pair.clientEnd.poll();
        List<WorkCompletion> failed = pair.clientEnd.sends.subList(1, pair.clientEnd.sends.size());
        assertThat(failed).hasSizeGreaterThan(10);
        assertThat(failed.get(0).status()).isEqualTo(WcStatus.RETRY_EXCEEDED_ERROR);
        assertThat(failed.subList(1, failed.size()))
                .allMatch(wc -> wc.status() == WcStatus.WR_FLUSH_ERROR);
    }

    private static String hostOf(Lab.Node node) {
        String text = node.address.toString();
        return text.substring(0, text.lastIndexOf(':'));
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("C08: when one of eight peers dies, only its work fails, and in time")
    void c08OneDeadPeerFailsItsOwnWorkOnly(Spoken spoken) {
        Lab lab = new Lab(8);
        Lab.Node sender = spoken.add(lab, DEFAULTS);
        long deadNs = spoken.deadPeerNs(DEFAULTS);
        List<Fan> fans = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            fans.add(new Fan(lab, spoken, sender, i));
        }
        lab.link(100_000_000L, MS, 100 * MS);
        long end = lab.nowNs() + 20 * MS;
        lab.driveUntil(() -> fans.stream().allMatch(Fan::keepBusy) && lab.nowNs() > end, SECOND);
        long killedNs = lab.nowNs();
        fans.get(3).target.kill();
        lab.expect(
                "the dead peer's work fails",
                () -> {
                    fans.forEach(Fan::keepBusy);
                    return fans.get(3).failed > 0;
                },
                2 * deadNs);

        assertThat(lab.nowNs() - killedNs).isBetween(deadNs * 8 / 10, deadNs * 12 / 10);
        assertThat(fans.get(3).connection.failure()).contains(hostOf(fans.get(3).target));
        for (Fan fan : fans) {
            assertThat(fan.failed > 0).isEqualTo(fan == fans.get(3));
        }
    }

    /** A connection from one sender to a target of its own, kept busy. */
    private static final class Fan {
        final Lab.Node target;
        final Connection connection;
        private final QueuePair qp;
        private final CompletionQueue done;
        private final MemoryRegion from;
        private MemoryRegion to;
        private int posted;
        private int completed;
        int failed;

        Fan(Lab lab, Spoken spoken, Lab.Node sender, int number) {
            target = spoken.add(lab, DEFAULTS);
            ProtectionDomain there = target.device.allocProtectionDomain();
            CompletionQueue unused = target.device.createCompletionQueue(2);
            to = there.register(Arena.ofAuto().allocate(1 << 16, 8), Access.REMOTE_WRITE);
            target.device.listen(
                    1,
                    request -> {
                        request.connection().createQueuePair(there, unused, unused, 1, 1);
                        request.accept();
                    });
            ProtectionDomain here = sender.device.allocProtectionDomain();
            from = here.register(Arena.ofAuto().allocate(1 << 16, 8), 0);
            done = sender.device.createCompletionQueue(16);
            connection = sender.device.connect(target.address, 1, new byte[0]);
            qp = connection.createQueuePair(here, done, done, 8, 8);
        }

        /** Polls, posts; true when data moves. */
        boolean keepBusy() {
            WorkCompletion wc = new WorkCompletion();
            while (done.poll(wc)) {
                completed++;
                failed += wc.status() == WcStatus.SUCCESS ? 0 : 1;
            }
            while (failed == 0 && posted - completed < 4) {
                posted++;
                Pair.must(1, qp.postWrite(1, from, 0, 1 << 16, to.address(), to.rkey()));
            }
            return completed > 4;
        }
    }

    /**
     * A server is killed in mid transfer, and another process takes its address at once. RoCEv2 has
     * no word for "I do not know this queue pair": InfiniBand drops such packets in silence. There
     * a client learns it by its time-out, which is known before: 8 times the timer of 67 ms.
     */
    @ParameterizedTest
    @CsvSource({"METAROCE,true", "METAROCE,false", "ROCE_V2,true", "ROCE_V2,false"})
    @DisplayName("C10: a client of a restarted server learns it within a second and connects anew")
    void c10ARestartedServerIsNoticed(Spoken spoken, boolean sends) {
        Lab lab = new Lab(10);
        boolean byTimeOut = spoken == Spoken.ROCE_V2;
        DeviceLimits limits =
                byTimeOut ? DEFAULTS.toBuilder().giveUpNs(SECOND / 2).build() : DEFAULTS;
        Lab.Node server = spoken.add(lab, limits);
        Lab.Node client = spoken.add(lab, limits);
        lab.link(1_000_000_000L, MS, 100 * MS);
        ProtectionDomain here = client.device.allocProtectionDomain();
        MemoryRegion from = here.register(Arena.ofAuto().allocate(1 << 20, 8), 0);
        for (int round = 0; round < 20; round++) {
            ProtectionDomain there = server.device.allocProtectionDomain();
            MemoryRegion to =
                    there.register(
                            Arena.ofAuto().allocate(1 << 20, 8),
                            Access.REMOTE_WRITE | Access.LOCAL_WRITE);
            CompletionQueue got = server.device.createCompletionQueue(64);
            server.device.listen(
                    1,
                    request -> {
                        QueuePair qp =
                                request.connection().createQueuePair(there, got, got, 16, 16);
                        for (int i = 0; i < 4; i++) {
                            qp.postReceive(i, to, 0, 1 << 20);
                        }
                        request.accept();
                    });
            from.segment().fill((byte) (round + 1));
            CompletionQueue done = client.device.createCompletionQueue(16);
            Connection connection = client.device.connect(server.address, 1, new byte[0]);
            QueuePair qp = connection.createQueuePair(here, done, done, 8, 8);
            post(qp, sends, from, to);
            lab.expect("the transfer of round " + round, () -> done.size() == 1, SECOND);
            WorkCompletion wc = new WorkCompletion();
            done.poll(wc);
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            assertThat(from.segment().mismatch(to.segment())).isEqualTo(-1);

            post(qp, sends, from, to);
            lab.advance(2 * MS);
            assertThat(done.size()).isZero();
            server = lab.replace(server, limits);
            long restartedNs = lab.nowNs();
            lab.expect(
                    "failure of round " + round,
                    () -> connection.state() == ConnectionState.FAILED,
                    SECOND);
            assertThat(lab.nowNs() - restartedNs)
                    .isLessThan(byTimeOut ? spoken.deadPeerNs(limits) + MS : SECOND);
            done.poll(wc);
            assertThat(wc.status()).isEqualTo(WcStatus.RETRY_EXCEEDED_ERROR);
        }
    }

    private static void post(QueuePair qp, boolean send, MemoryRegion from, MemoryRegion to) {
        Pair.must(
                1,
                send
                        ? qp.postSend(1, from, 0, 1 << 20)
                        : qp.postWrite(1, from, 0, 1 << 20, to.address(), to.rkey()));
    }

    @Test
    @DisplayName("C10: a client that restarts takes its contexts with it")
    void c10ARestartedClientFreesItsContexts() {
        Peers peers = new Peers(10, DEFAULTS.toBuilder().contexts(1).build(), 2, 1 << 20, 4);
        peers.lab.link(1_000_000_000L, MS, 100 * MS);
        Peers.Client first = peers.add(DEFAULTS);
        first.write(1 << 20);
        peers.lab.advance(2 * MS);
        assertThat(peers.server.device.contextsInUse()).isEqualTo(1);
        Lab.Node again = peers.lab.replace(first.node, DEFAULTS);
        Connection connection = again.device.connect(peers.server.address, 9, new byte[0]);
        long start = peers.lab.nowNs();
        peers.lab.expect(
                "the new process gets the only context",
                () -> connection.state() == ConnectionState.OPEN,
                2 * DEFAULTS.packetLifetimeNs());

        assertThat(peers.server.count(CounterId.RETIRED)).isEqualTo(1);
        // It comes back with its quarantine, not with a time-out of the dead holder.
        assertThat(peers.lab.nowNs() - start)
                .isBetween(
                        DEFAULTS.packetLifetimeNs() * 9 / 10,
                        DEFAULTS.packetLifetimeNs() * 12 / 10);
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("C11: datagrams of strangers disturb no connect")
    void c11StrangersDisturbNobody(Spoken spoken) {
        Peers peers = new Peers(spoken, 11, DEFAULTS, 50, 1 << 12, 4);
        Rng rng = new Rng(11);
        int answers[] = new int[1];
        NetAddress stranger = NetAddress.ofIpv4(0x0A63_6363, 4_000);
        peers.lab.addFault(
                packet -> {
                    answers[0] += packet.destination.sameHost(stranger) ? 1 : 0;
                    return 1;
                });
        byte[] http = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < 1000; i++) {
            for (int length = 0; length < 8; length++) {
                peers.lab.inject(stranger, peers.server, random(rng, length));
            }
            peers.lab.inject(stranger, peers.server, http);
            peers.lab.inject(stranger, peers.server, random(rng, 1400));
            if (i % 20 == 0) {
                peers.add(DEFAULTS).write(1 << 12);
            }
            peers.lab.advance(10_000);
        }
        peers.expectDone(SECOND);

        assertThat(peers.clients).hasSize(50).allMatch(Peers.Client::isPlaced);
        long refused =
                peers.server.count(CounterId.MALFORMED)
                        + peers.server.count(CounterId.BAD_CRC)
                        + peers.server.count(CounterId.ICRC_ERRORS)
                        + peers.server.count(CounterId.BAD_VERSION);
        assertThat(refused).isEqualTo(10_000);
        assertThat(answers[0]).isZero();
        peers.clients.forEach(client -> client.connection.close());
        peers.expectNoContexts(SECOND);
    }

    private static byte[] random(Rng rng, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) rng.nextInt();
        }
        return bytes;
    }

    /** The time-out of a connect is the give-up time. */
    @Test
    @DisplayName("C12: a connect to nobody ends at its time-out, one to a late server succeeds")
    void c12NobodyAnswers() {
        DeviceLimits limits = DEFAULTS.toBuilder().giveUpNs(2 * SECOND).build();
        Lab lab = new Lab(12);
        Lab.Node client = lab.add(limits);
        NetAddress nobody = NetAddress.ofIpv4(0x0A00_0001, 50_791);
        Connection hopeless = client.device.connect(nobody, 1, new byte[0]);
        long start = lab.nowNs();
        lab.expect("the end", () -> hopeless.state() == ConnectionState.FAILED, 4 * SECOND);

        assertThat(lab.nowNs() - start).isBetween(16 * SECOND / 10, 24 * SECOND / 10);
        assertThat(hopeless.failure()).contains(nobody.toString()).contains("no answer");
        Connection early = client.device.connect(nobody, 1, new byte[0]);
        lab.advance(SECOND);
        Lab.Node server = lab.add(limits);
        assertThat(server.address).isEqualTo(nobody);
        server.device.listen(1, request -> request.accept());
        lab.expect("the late server", () -> early.state() == ConnectionState.OPEN, SECOND);
    }

    @Test
    void aSilentHolderIsAskedMoreThanOnceBeforeItsContextIsTaken() {
        DeviceLimits patient = DEFAULTS.toBuilder().lingerNs(1_000 * SECOND).build();
        Pair pair = new Pair(1, patient, DEFAULTS, 1, 1 << 16).connect();
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        int cid = pair.clientEnd.connection.cid();
        int[] asked = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean ask = RawPacket.is(packet.bytes, ControlOpcode.KEEPALIVE);
                    return ask && asked[0]++ % 3 != 2 ? 0 : 1;
                });
        pair.lab.advance(60 * SECOND);

        assertThat(asked[0]).isGreaterThan(30);
        assertThat(pair.server.count(CounterId.EXPIRED)).isZero();
        assertThat(pair.clientEnd.connection.cid()).isEqualTo(cid);
    }
}
