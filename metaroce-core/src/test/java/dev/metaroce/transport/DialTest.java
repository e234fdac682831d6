package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Occupant;
import dev.metaroce.testing.Pair;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;

/** Connections come and go, many times and in both directions. */
class DialTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    /** A device with one region that serves and dials. */
    private static final class Side {
        final Lab.Node node;
        final ProtectionDomain domain;
        final MemoryRegion region;
        final CompletionQueue accepted;

        Side(Lab lab, DeviceLimits limits) {
            node = lab.add(limits);
            domain = node.device.allocProtectionDomain();
            region =
                    domain.register(
                            Arena.ofAuto().allocate(8192, 8),
                            Access.LOCAL_WRITE | Access.REMOTE_WRITE);
            accepted = node.device.createCompletionQueue(1 << 20);
            node.device.listen(
                    1,
                    request -> {
                        request.connection().createQueuePair(domain, accepted, accepted, 1, 1);
                        request.accept();
                    });
        }

        /** Dials and writes 4 KiB of {@code fill} to the upper half of the other's region. */
        Visit visit(Side other, int fill) {
            region.segment().asSlice(0, 4096).fill((byte) fill);
            return new Visit(this, other);
        }
    }

    /** A connection for one write. */
    private static final class Visit {
        final Connection connection;
        private final CompletionQueue done;
        private final WorkCompletion wc = new WorkCompletion();
        private boolean closed;

        Visit(Side from, Side to) {
            connection = from.node.device.connect(to.node.address, 1, new byte[0]);
            done = from.node.device.createCompletionQueue(2);
            QueuePair qp = connection.createQueuePair(from.domain, done, done, 1, 1);
            Pair.must(
                    1,
                    qp.postWrite(
                            1, from.region, 0, 4096, to.region.address() + 4096, to.region.rkey()));
        }

        boolean isOver() {
            if (!closed && done.poll(wc)) {
                assertThat(wc.status()).as(connection.failure()).isEqualTo(WcStatus.SUCCESS);
                closed = true;
                connection.close();
            }
            return closed && connection.state() == ConnectionState.CLOSED;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 256})
    @DisplayName("C01: two devices dial each other at the same time, again and again")
    void c01BothSidesDial(int contexts) {
        Lab lab = new Lab(1);
        Rng rng = lab.rng("skew");
        DeviceLimits limits = DEFAULTS.toBuilder().contexts(contexts).packetLifetimeNs(MS).build();
        Side a = new Side(lab, limits);
        Side b = new Side(lab, limits);
        for (int round = 0; round < 1000; round++) {
            Visit forth = a.visit(b, round);
            lab.advance(rng.nextInt(3) == 0 ? 0 : rng.nextInt(2_000_000));
            Visit back = b.visit(a, ~round);
            lab.expect(
                    "both writes of round " + round, () -> forth.isOver() & back.isOver(), SECOND);
            assertThat(
                            a.region
                                    .segment()
                                    .asSlice(0, 4096)
                                    .mismatch(b.region.segment().asSlice(4096, 4096)))
                    .isEqualTo(-1);
            assertThat(
                            b.region
                                    .segment()
                                    .asSlice(0, 4096)
                                    .mismatch(a.region.segment().asSlice(4096, 4096)))
                    .isEqualTo(-1);
        }
        lab.advance(SECOND);

        assertThat(a.node.device.contextsInUse()).isZero();
        assertThat(b.node.device.contextsInUse()).isZero();
        assertThat(a.node.engine.metaRoce().device().connectionCount()).isZero();
        assertThat(b.node.engine.metaRoce().device().connectionCount()).isZero();
    }

    @Test
    @DisplayName("C13: three thousand connections one after the other leave nothing behind")
    void c13ManyConnectionsInARow() {
        Lab lab = new Lab(13);
        DeviceLimits few = DEFAULTS.toBuilder().maxConnections(4).build();
        Side client = new Side(lab, few);
        Side server = new Side(lab, few);
        long firstNs = 0;
        long lastNs = 0;
        for (int round = 0; round < 3_000; round++) {
            long start = lab.nowNs();
            Visit visit = client.visit(server, round);
            lab.expect("round " + round, visit::isOver, SECOND);
            firstNs += round < 100 ? lab.nowNs() - start : 0;
            lastNs += round >= 2_900 ? lab.nowNs() - start : 0;
        }
        lab.advance(SECOND);

        assertThat(lastNs).isLessThan(firstNs * 3 / 2);
        assertThat(server.node.device.contextsInUse()).isZero();
        assertThat(server.node.engine.metaRoce().device().connectionCount()).isZero();
        assertThat(client.node.engine.metaRoce().device().connectionCount()).isZero();
    }

    @Test
    void aDeviceMayDialItself() {
        Lab lab = new Lab(2);
        Side self = new Side(lab, DEFAULTS);
        Visit visit = self.visit(self, 7);
        lab.expect("the visit", visit::isOver, SECOND);

        assertThat(
                        self.region
                                .segment()
                                .asSlice(0, 4096)
                                .mismatch(self.region.segment().asSlice(4096, 4096)))
                .isEqualTo(-1);
        lab.advance(SECOND);
        assertThat(self.node.engine.metaRoce().device().connectionCount()).isZero();
    }

    @Test
    void closingWhileInLineFinishesWhatWasPosted() {
        Lab lab = new Lab(3);
        Side client = new Side(lab, DEFAULTS);
        Side server = new Side(lab, DEFAULTS.toBuilder().contexts(1).build());
        Occupant occupant = new Occupant(lab, server.node, 1);
        Visit visit = client.visit(server, 9);
        lab.advance(300 * MS);
        visit.connection.close();
        lab.advance(300 * MS);
        assertThat(visit.connection.state()).isEqualTo(ConnectionState.CLOSING);
        occupant.leave();
        lab.expect("the visit", visit::isOver, SECOND);

        assertThat(
                        client.region
                                .segment()
                                .asSlice(0, 4096)
                                .mismatch(server.region.segment().asSlice(4096, 4096)))
                .isEqualTo(-1);
    }

    /** The table of the dialler itself is full: the work is flushed and the reason told. */
    @Test
    void aDialBeyondTheOwnTableFailsAtOnce() {
        Lab lab = new Lab(4);
        Side client = new Side(lab, DEFAULTS.toBuilder().maxConnections(1).build());
        Side server = new Side(lab, DEFAULTS);
        Connection first = client.node.device.connect(server.node.address, 1, new byte[0]);
        Connection second = client.node.device.connect(server.node.address, 1, new byte[0]);
        CompletionQueue done = client.node.device.createCompletionQueue(4);
        QueuePair qp = second.createQueuePair(client.domain, done, done, 2, 2);
        Pair.must(5, qp.postSend(5, client.region, 0, 8));
        Pair.must(6, qp.postReceive(6));
        lab.advance(MS);

        assertThat(first.state()).isEqualTo(ConnectionState.OPEN);
        assertThat(second.state()).isEqualTo(ConnectionState.FAILED);
        assertThat(second.failure()).contains("maxConnections");
        WorkCompletion wc = new WorkCompletion();
        assertThat(done.poll(wc)).isTrue();
        assertThat(wc.status()).isEqualTo(WcStatus.WR_FLUSH_ERROR);
        assertThat(done.poll(wc)).isTrue();
        assertThat(wc.wrId()).isEqualTo(6);
    }
}
