package dev.metaroce.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** What a device tells between completions. */
class AsyncEventsTest {
    private static final long SECOND = 1_000_000_000L;

    private final Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 4096);
    private final AsyncEvents atClient = pair.client.device.events();
    private final AsyncEvents atServer = pair.server.device.events();

    private static List<AsyncEventType> types(AsyncEvents events) {
        List<AsyncEventType> all = new ArrayList<>();
        for (AsyncEvent e = events.poll(); e != null; e = events.poll()) {
            all.add(e.type());
        }
        return all;
    }

    @Test
    void aLifeInOrder() {
        AsyncEvent first = atClient.take(SECOND);
        assertThat(first.type()).isEqualTo(AsyncEventType.ESTABLISHED);
        assertThat(first.connection()).as("the same object").isSameAs(pair.clientEnd.connection);
        assertThat(first.source()).isSameAs(pair.clientEnd.connection);
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        pair.clientEnd.connection.close();
        assertThat(atClient.take(SECOND).type()).isEqualTo(AsyncEventType.DISCONNECTED);
        assertThat(types(atServer))
                .containsExactly(AsyncEventType.ESTABLISHED, AsyncEventType.DISCONNECTED);
        assertThat(atClient.take(SECOND)).isNull();
    }

    @Test
    void whatNobodyAskedForIsNotKept() {
        Pair quiet = new Pair(2, DeviceLimits.defaults(), 1, 64).connect();
        assertThat(quiet.client.device.events().poll()).isNull();
        quiet.clientEnd.connection.close();
        quiet.lab.advance(1_000_000_000L);
        assertThat(quiet.client.device.events().poll()).isNotNull();
    }

    @Test
    void aRejection() {
        pair.connect();
        types(atClient);
        pair.server.device.listen(8, r -> r.reject(new byte[] {'n', 'o'}));
        Connection refused = pair.client.device.connect(pair.server.address, 8, new byte[0]);
        AsyncEvent event = atClient.take(SECOND);
        assertThat(event.type()).isEqualTo(AsyncEventType.REJECTED);
        assertThat(event.connection()).isSameAs(refused);
        assertThat(event.text()).isEqualTo(refused.failure()).contains("\"no\"");
        assertThat(types(atServer)).containsExactly(AsyncEventType.ESTABLISHED);
    }

    @Test
    void nobodyThereAndSomebodyGone() {
        pair.connect();
        types(atClient);
        pair.server.kill();
        pair.client.device.connect(pair.server.address, 8, new byte[0]);
        pair.write(0, 1, 0, 4096);
        pair.lab.advance(6 * SECOND);
        assertThat(types(atClient))
                .contains(AsyncEventType.UNREACHABLE, AsyncEventType.FAILED)
                .doesNotContain(AsyncEventType.DISCONNECTED, AsyncEventType.QP_FATAL);
    }

    /** The queue pair of the refused WRITE is told of, once, and by its own object. */
    @Test
    void aQueuePairInError() {
        pair.connect();
        types(atClient);
        QueuePair qp = pair.clientEnd.qp();
        for (int i = 0; i < 3; i++) {
            qp.postWrite(i, pair.clientEnd.region, 0, 8, 0, 0xBAD);
        }
        pair.lab.advance(SECOND);
        AsyncEvent event = atClient.poll();
        assertThat(event.type()).isEqualTo(AsyncEventType.QP_FATAL);
        assertThat(event.source()).isSameAs(qp);
        assertThat(event.connection()).isSameAs(pair.clientEnd.connection);
        assertThat(event.text()).isEqualTo("REMOTE_ACCESS_ERROR");
        assertThat(types(atClient)).isEmpty();
    }

    @Test
    void aPathThatMoves() {
        pair.connect();
        types(atClient);
        int[] dead = {-1};
        pair.lab.addFault(
                packet -> {
                    if (packet.from == pair.client && dead[0] < 0 && packet.route > 0) {
                        dead[0] = packet.route;
                    }
                    return packet.from == pair.client && packet.route == dead[0] ? 0 : 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.write(0, i, 0, 4096);
        }
        pair.expectSends(64, 3 * SECOND);
        assertThat(pair.client.count(CounterId.REROUTES)).isPositive();
        AsyncEvent event = atClient.poll();
        assertThat(event.type()).isEqualTo(AsyncEventType.PATH_MIGRATED);
        assertThat(event.text()).contains("from route " + dead[0] + " to ");
    }

    @Test
    void theOldestAreKeptAndTheOthersCounted() {
        AsyncEvents events = new AsyncEvents(new ManualDriver().newSignal(), e -> {});
        for (int i = 0; i < AsyncEvents.CAPACITY + 5; i++) {
            events.add(new AsyncEvent(AsyncEventType.SRQ_LIMIT_REACHED, null, "queue", "" + i));
        }
        assertThat(events.lost()).isEqualTo(5);
        for (int i = 0; i < AsyncEvents.CAPACITY; i++) {
            assertThat(events.poll().text()).isEqualTo("" + i);
        }
        assertThat(events.poll()).isNull();
        events.add(new AsyncEvent(AsyncEventType.SRQ_LIMIT_REACHED, null, "queue", "again"));
        assertThat(events.poll().text()).isEqualTo("again");
    }

    @Test
    void aListenerIsToldAtOnceAndMayFail() {
        List<RuntimeException> failures = new ArrayList<>();
        AsyncEvents events = new AsyncEvents(new ManualDriver().newSignal(), failures::add);
        List<AsyncEvent> told = new ArrayList<>();
        events.listener(told::add);
        AsyncEvent event = new AsyncEvent(AsyncEventType.SRQ_LIMIT_REACHED, null, "queue", "");
        events.add(event);
        assertThat(told).containsExactly(event);
        assertThat(events.poll()).isNull();
        events.listener(
                e -> {
                    throw new IllegalStateException("mine");
                });
        events.add(event);
        assertThat(failures).singleElement().hasToString("java.lang.IllegalStateException: mine");
    }
}
