package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** The end of queue pairs, by their owner or with their connection. MR-4.9-8. */
class QueuePairEndTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @EnumSource(Profile.class)
    void closingFlushesAndOthersGoOn(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 2, 1 << 20);
        pair.lab.link(100_000_000L, MS, 100 * MS);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        QueuePair closing = pair.clientEnd.qp();
        Pair.must(9, closing.postReceive(9));
        for (int i = 0; i < 3; i++) {
            pair.write(0, i, 0, 1 << 19);
            pair.write(1, 10 + i, i << 18, 1 << 18);
        }
        pair.lab.advance(20 * MS);
        closing.close();
        closing.close();
        assertThatThrownBy(() -> closing.postSend(4, pair.clientEnd.region, 0, 8))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends.stream().filter(wc -> wc.wrId() < 3))
                .hasSize(3)
                .allMatch(wc -> wc.status() == WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.sends.stream().filter(wc -> wc.wrId() >= 10))
                .hasSize(3)
                .allMatch(wc -> wc.status() == WcStatus.SUCCESS);
        assertThat(pair.clientEnd.receives)
                .singleElement()
                .matches(wc -> wc.wrId() == 9 && wc.status() == WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
        pair.expectNoContexts(SECOND);
    }

    @Test
    void messagesForAClosedQueuePairAreRefused() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 2, 1 << 16).connect();
        pair.serverEnd.qp().close();
        pair.write(0, 1, 0, 64);
        pair.write(1, 2, 0, 64);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactlyInAnyOrder(WcStatus.REMOTE_INVALID_REQUEST_ERROR, WcStatus.SUCCESS);
    }

    /** The room in the completion queue comes back, but not before all was polled. */
    @Test
    void aClosedQueuePairGivesItsRoomBack() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 16).connect();
        CompletionQueue small = pair.client.device.createCompletionQueue(8);
        Connection connection = pair.clientEnd.connection;
        ProtectionDomain domain = pair.clientEnd.domain;
        QueuePair first = connection.createQueuePair(domain, small, small, 4, 4);
        Pair.must(1, first.postReceive(1));
        assertThatThrownBy(() -> connection.createQueuePair(domain, small, small, 4, 4))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("8");
        first.close();
        pair.lab.advance(MS);
        assertThatThrownBy(() -> connection.createQueuePair(domain, small, small, 4, 4))
                .isInstanceOf(IllegalArgumentException.class);
        WorkCompletion wc = new WorkCompletion();
        assertThat(small.poll(wc)).isTrue();
        assertThat(wc.owner()).isSameAs(first);
        connection.createQueuePair(domain, small, small, 4, 4);
    }

    /** A shared queue does not run out after many short connections. */
    @Test
    void tenThousandShortConnectionsShareOneCompletionQueue() {
        Lab lab = new Lab(1);
        Lab.Node client = lab.add(DeviceLimits.defaults());
        Lab.Node server = lab.add(DeviceLimits.defaults());
        CompletionQueue clientQueue = client.device.createCompletionQueue(64);
        CompletionQueue serverQueue = server.device.createCompletionQueue(64);
        ProtectionDomain serverDomain = server.device.allocProtectionDomain();
        List<QueuePair> accepted = new ArrayList<>();
        server.device.listen(
                7,
                request -> {
                    QueuePair qp =
                            request.connection()
                                    .createQueuePair(serverDomain, serverQueue, serverQueue, 2, 2);
                    qp.postReceive(1);
                    qp.postReceive(2);
                    accepted.add(qp);
                    request.accept();
                });
        ProtectionDomain domain = client.device.allocProtectionDomain();
        MemoryRegion region = domain.register(Arena.ofAuto().allocate(8), 0);
        WorkCompletion wc = new WorkCompletion();
        for (int i = 0; i < 10_000; i++) {
            Connection connection = client.device.connect(server.address, 7, new byte[0]);
            QueuePair qp = connection.createQueuePair(domain, clientQueue, clientQueue, 16, 16);
            Pair.must(i, qp.postSend(i, region, 0, 0));
            connection.close();
            lab.expect("closed", () -> connection.state() == ConnectionState.CLOSED, 10 * SECOND);
            assertThat(clientQueue.poll(wc)).isTrue();
            assertThat(wc.wrId()).isEqualTo(i);
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            assertThat(clientQueue.poll(wc)).isFalse();
            int polled = 0;
            while (serverQueue.poll(wc)) {
                polled++;
            }
            assertThat(polled).isEqualTo(2);
        }
        assertThat(accepted).hasSize(10_000);
        assertThatThrownBy(() -> accepted.get(0).postReceive(3))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ended");
    }
}
