package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.roce.AckTimeout;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.UnaryOperator;

/** From connect to close, and to the end by silence. */
class RoceLifeTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    /** One node with what its connections need. */
    private static final class Side {
        final Lab.Node node;
        final ProtectionDomain domain;
        final CompletionQueue done;
        final MemoryRegion region;

        Side(Lab lab, UnaryOperator<RoceSettings> changes) {
            this(lab, 4096, changes);
        }

        Side(Lab lab, int mtu, UnaryOperator<RoceSettings> changes) {
            node = lab.addRoce(RocePackets.mtu(mtu), changes);
            domain = node.device.allocProtectionDomain();
            done = node.device.createCompletionQueue(64);
            region = domain.register(Arena.ofAuto().allocate(1 << 20, 8), Access.ALL);
        }

        QueuePair open() {
            Connection connection = node.device.connectByHand();
            return connection.createQueuePair(domain, done, done, 4, 4);
        }
    }

    private static void connect(QueuePair a, QueuePair b) {
        a.connect(b.localEnd());
        b.connect(a.localEnd());
    }

    @Test
    @DisplayName("C13: three thousand connections one after the other leave nothing behind")
    void c13ManyConnectionsInARow() {
        Lab lab = new Lab(13);
        Side client = new Side(lab, plain -> plain.toBuilder().maxQps(300).build());
        Side server = new Side(lab, plain -> plain.toBuilder().maxQps(300).build());
        WorkCompletion wc = new WorkCompletion();
        long firstNs = 0;
        long lastNs = 0;
        int highest = 0;
        int before = -1;
        for (int round = 0; round < 3_000; round++) {
            long start = lab.nowNs();
            QueuePair ours = client.open();
            QueuePair theirs = server.open();
            connect(ours, theirs);
            client.region.segment().fill((byte) round);
            Pair.must(
                    round,
                    ours.postWrite(
                            round,
                            client.region,
                            0,
                            4096,
                            server.region.address(),
                            server.region.rkey()));
            lab.expect("round " + round, () -> client.done.poll(wc), SECOND);
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            assertThat(server.region.segment().asSlice(0, 4096).toArray(ValueLayout.JAVA_BYTE))
                    .containsOnly((byte) round);
            ours.connection().close();
            theirs.connection().close();
            lab.expect("closed", () -> client.node.device.contextsInUse() == 0, SECOND);
            assertThat(ours.localEnd().qpn()).isNotEqualTo(before);
            before = ours.localEnd().qpn();
            highest = Math.max(highest, before & 511);
            firstNs += round < 100 ? lab.nowNs() - start : 0;
            lastNs += round >= 2_900 ? lab.nowNs() - start : 0;
        }
        lab.advance(SECOND);

        assertThat(lastNs).isLessThan(firstNs * 3 / 2);
        assertThat(client.node.device.contextsInUse()).isZero();
        assertThat(server.node.device.contextsInUse()).isZero();
        // Places are used again, though not at once.
        assertThat(highest).isBetween(200, 301);
    }

    @ParameterizedTest
    @CsvSource({"4096,1024", "1024,4096"})
    @DisplayName("C15: the smaller MTU of the two ends holds in both directions")
    void c15UnequalMtu(int firstMtu, int secondMtu) {
        Lab lab = new Lab(15);
        Side first = new Side(lab, firstMtu, plain -> plain);
        Side second = new Side(lab, secondMtu, plain -> plain);
        QueuePair ours = first.open();
        QueuePair theirs = second.open();
        connect(ours, theirs);
        int[] longest = new int[1];
        lab.addFault(
                packet -> {
                    int header = RocePackets.opcode(packet).headerBytes();
                    longest[0] = Math.max(longest[0], packet.bytes.length - header - 4);
                    return 1;
                });
        int bytes = 1 << 19;
        theirs.postReceive(1, second.region, bytes, bytes);
        ours.postReceive(1, first.region, bytes, bytes);
        for (QueuePair qp : List.of(ours, theirs)) {
            Side from = qp == ours ? first : second;
            Side to = qp == ours ? second : first;
            qp.postWrite(1, from.region, 0, bytes, to.region.address(), to.region.rkey());
            qp.postRead(2, from.region, 0, bytes, to.region.address(), to.region.rkey());
            qp.postSend(3, from.region, 0, bytes);
        }
        lab.advance(SECOND);

        WorkCompletion wc = new WorkCompletion();
        for (Side side : List.of(first, second)) {
            for (int i = 0; i < 4; i++) {
                assertThat(side.done.poll(wc)).isTrue();
                assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            }
        }
        assertThat(ours.connection().payloadMtu()).isEqualTo(1024);
        assertThat(theirs.connection().payloadMtu()).isEqualTo(1024);
        assertThat(longest[0]).isEqualTo(1024);
    }

    @Test
    void whatWasPostedIsFinishedBeforeTheEnd() {
        Pair pair = Pair.ofRoce(1, RocePackets.mtu(4096), plain -> plain, 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 20);
        pair.clientEnd.connection.close();
        pair.lab.advance(100);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.CLOSING);
        pair.expectSends(1, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.CLOSED);
        assertThat(pair.client.device.contextsInUse()).isZero();
        pair.write(0, 2, 0, 1);
        pair.lab.advance(MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.WR_FLUSH_ERROR);
    }

    /** Eight times the time-out of 67 ms, and the reason with address and PSN. */
    @Test
    void aSilentPeerEndsTheConnection() {
        Pair pair = Pair.ofRoce(1, RocePackets.mtu(4096), plain -> plain, 2, 1 << 16).connect();
        pair.server.kill();
        pair.write(0, 1, 0, 100);
        pair.write(0, 2, 0, 100);
        Pair.must(7, pair.clientEnd.pairs.get(1).postReceive(7));
        long start = pair.lab.nowNs();
        pair.lab.expect(
                "failed",
                () -> pair.clientEnd.connection.state() == ConnectionState.FAILED,
                10 * SECOND);
        pair.clientEnd.poll();

        assertThat(pair.lab.nowNs() - start)
                .isBetween(8 * AckTimeout.ns(14), 8 * AckTimeout.ns(14) + MS);
        assertThat(pair.client.count(CounterId.RTO_FIRED)).isEqualTo(8);
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.RETRY_EXCEEDED_ERROR, WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.receives)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.connection.failure())
                .contains("10.0.0.1", "PSN 0x", "sent 8 times")
                .doesNotContain("\n");
        assertThat(pair.client.device.contextsInUse()).isZero();
    }

    @Test
    void aQueuePairEndsAloneAndItsPeerHearsNothing() {
        Pair pair = Pair.ofRoce(1, RocePackets.mtu(4096), plain -> plain, 2, 1 << 16).connect();
        pair.serverEnd.pairs.get(0).close();
        pair.lab.advance(MS);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.write(1, 1, 0, 100);
        pair.expectSends(1, SECOND);
        pair.write(0, 2, 0, 100);
        pair.lab.advance(MS);

        assertThat(pair.server.count(CounterId.UNKNOWN_QP)).isEqualTo(1);
    }

    @Test
    void moreQueuePairsThanAllowedAreRefusedByName() {
        Lab lab = new Lab(1);
        Side side = new Side(lab, plain -> plain.toBuilder().maxQps(3).build());
        QueuePair first = side.open();
        side.open();
        side.open();
        assertThatThrownBy(side::open)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("3 queue pairs")
                .hasMessageContaining("maxQps");
        first.close();
        lab.advance(MS);
        assertThat(side.open().localEnd().qpn()).isNotEqualTo(first.localEnd().qpn());
    }

    @Test
    void onlyRoceConnectsByHand() {
        Lab lab = new Lab(1);
        Lab.Node node = lab.add(RocePackets.mtu(4096));

        assertThatThrownBy(node.device::connectByHand)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("RoCEv2");
    }
}
