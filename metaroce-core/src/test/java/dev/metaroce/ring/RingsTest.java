package dev.metaroce.ring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** The work queue and the completion ring, against array deques and against two threads. */
class RingsTest {
    /** Queues of random depths that share a completion ring; some requests are not signalled. */
    @Seeded(cases = 200)
    void agreeWithDeques(long seed) {
        Rng rng = new Rng(seed);
        int queues = 1 + rng.nextInt(3);
        WorkQueue[] queue = new WorkQueue[queues];
        int[] depth = new int[queues];
        CompletionRing ring = new CompletionRing(200);
        Request request = new Request();
        for (int i = 0; i < queues; i++) {
            depth[i] = 1 + rng.nextInt(60);
            queue[i] = WorkQueue.sends("queue " + i, 0, depth[i], 1, 0, false);
        }
        Twin twin = new Twin(queues);
        long id = 0;
        WorkCompletion wc = new WorkCompletion();
        for (int step = 0; step < 3_000; step++) {
            int i = rng.nextInt(queues);
            switch (rng.nextInt(3)) {
                case 0 -> {
                    boolean signaled = rng.chance(0.7);
                    int room = signaled ? depth[i] : depth[i] - 1;
                    PostResult result = queue[i].offer(request.of(id, signaled));
                    assertThat(result == PostResult.OK).isEqualTo(twin.occupied(i) < room);
                    if (result == PostResult.OK) {
                        twin.waiting.get(i).add(new Twin.Request(id, signaled));
                        assertThat(queue[i].tail()).isEqualTo(++twin.posted[i]);
                    }
                    id++;
                }
                case 1 -> complete(queue[i], i, ring, twin);
                default -> {
                    Twin.Request expected = twin.completed.poll();
                    assertThat(ring.poll(wc)).isEqualTo(expected != null);
                    if (expected != null) {
                        assertThat(wc.wrId()).isEqualTo(expected.id());
                        assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
                        assertThat(wc.byteLength()).isEqualTo(expected.id() * 2);
                        boolean even = expected.id() % 2 == 0;
                        int value = (int) expected.id();
                        assertThat(wc.hasImmediate()).isEqualTo(even);
                        assertThat(wc.immediate()).isEqualTo(even ? value : 0);
                        assertThat(wc.hasInvalidatedKey()).isEqualTo(!even);
                        assertThat(wc.invalidatedKey()).isEqualTo(even ? 0 : value);
                        int origin = twin.origins.poll();
                        assertThat(wc.owner()).isEqualTo("queue " + origin);
                        twin.freed[origin] = twin.sequences.poll() + 1;
                    }
                }
            }
            assertThat(ring.size()).isEqualTo(twin.completed.size());
            assertThat(queue[i].outstanding()).isEqualTo(twin.occupied(i));
        }
    }

    /** A request in which all is its number. */
    private static final class Request extends WorkRequest {
        private final MemoryRegion region =
                new RegionTable(() -> 0xC0FFEE).registerVirtual(1L << 40, 0, 0);

        Request of(long id, boolean signaled) {
            wrId = id;
            operation = 3;
            flags = signaled ? WorkQueue.SIGNALED : 0;
            remoteAddress = id;
            clearPieces();
            addPiece(region, id, id);
            return this;
        }
    }

    /** The engine finishes the oldest request of a queue. */
    private static void complete(WorkQueue queue, int i, CompletionRing ring, Twin twin) {
        Twin.Request next = twin.waiting.get(i).poll();
        if (next == null) {
            return;
        }
        long seq = twin.engine[i]++;
        assertThat(queue.wrId(seq)).isEqualTo(next.id());
        assertThat(queue.length(seq)).isEqualTo(next.id());
        assertThat(queue.remoteAddress(seq)).isEqualTo(next.id());
        assertThat(queue.signaled(seq)).isEqualTo(next.signaled());
        if (next.signaled()) {
            ring.push(
                    queue,
                    seq,
                    next.id(),
                    WcStatus.SUCCESS,
                    WcOpcode.SEND,
                    next.id() * 2,
                    (int) next.id(),
                    next.id() % 2 == 0
                            ? CompletionRing.Extra.IMMEDIATE
                            : CompletionRing.Extra.INVALIDATED);
            twin.completed.add(next);
            twin.origins.add(i);
            twin.sequences.add(seq);
        }
    }

    private static final class Twin {
        record Request(long id, boolean signaled) {}

        final List<ArrayDeque<Request>> waiting = new ArrayList<>();
        final ArrayDeque<Request> completed = new ArrayDeque<>();
        final ArrayDeque<Integer> origins = new ArrayDeque<>();
        final ArrayDeque<Long> sequences = new ArrayDeque<>();
        final long[] posted;
        final long[] engine;
        final long[] freed;

        Twin(int queues) {
            for (int i = 0; i < queues; i++) {
                waiting.add(new ArrayDeque<>());
            }
            posted = new long[queues];
            engine = new long[queues];
            freed = new long[queues];
        }

        int occupied(int i) {
            return (int) (posted[i] - freed[i]);
        }
    }

    /** One thread posts and polls, another takes and completes, as application and engine do. */
    @Test
    @Timeout(60)
    void twoThreadsLoseNothing() throws InterruptedException {
        int total = 1_000_000;
        WorkQueue queue = WorkQueue.sends("it", 0, 61, 1, 0, false);
        Request request = new Request();
        CompletionRing ring = new CompletionRing(61);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread engine =
                new Thread(
                        () -> {
                            try {
                                engine(queue, ring, total);
                            } catch (Throwable e) {
                                failure.set(e);
                            }
                        });
        engine.start();
        long posted = 0;
        long polled = 0;
        WorkCompletion wc = new WorkCompletion();
        while (polled < total && failure.get() == null) {
            boolean moved = false;
            if (posted < total && queue.offer(request.of(posted, true)) == PostResult.OK) {
                posted++;
                moved = true;
            }
            if (ring.poll(wc)) {
                if (wc.wrId() != polled || wc.byteLength() != polled) {
                    throw new AssertionError("completion " + polled + " is " + wc);
                }
                polled++;
                moved = true;
            }
            if (!moved) {
                Thread.onSpinWait();
            }
        }
        engine.join();
        assertThat(failure.get()).isNull();
        assertThat(polled).isEqualTo(total);
        assertThat(queue.outstanding()).isZero();
    }

    private static void engine(WorkQueue queue, CompletionRing ring, int total) {
        for (long seq = 0; seq < total; seq++) {
            while (queue.tail() <= seq) {
                Thread.onSpinWait();
            }
            long id = queue.wrId(seq);
            if (id != seq || queue.remoteAddress(seq) != seq) {
                throw new AssertionError("request " + seq + " reads as " + id);
            }
            ring.push(
                    queue,
                    seq,
                    id,
                    WcStatus.SUCCESS,
                    WcOpcode.WRITE,
                    queue.length(seq),
                    0,
                    CompletionRing.Extra.NONE);
        }
    }

    /** What a queue reported before its end keeps its room until it is polled. */
    @Test
    void roomComesBackWhenTheLastCompletionWasPolled() {
        CompletionRing ring = new CompletionRing(10);
        WorkQueue queue = WorkQueue.receives("it", 0, 10, 1);
        Reservation room = new Reservation(ring, 10);
        assertThat(room.tryReturn()).isFalse();
        push(ring, queue, 0);
        room.end();
        assertThat(room.tryReturn()).isFalse();
        assertThat(room.resume()).isTrue();
        push(ring, queue, 1);
        WorkCompletion wc = new WorkCompletion();
        assertThat(ring.poll(wc)).isTrue();
        assertThat(ring.poll(wc)).isTrue();
        // Between resume and end nobody may have it.
        assertThat(room.tryReturn()).isFalse();
        room.end();
        assertThat(room.isReturned()).isFalse();
        assertThat(room.tryReturn()).isTrue();
        assertThat(room.resume()).isFalse();
        room.end();
        assertThat(room.isReturned()).isTrue();
        assertThat(room.ring()).isSameAs(ring);
    }

    private static void push(CompletionRing ring, WorkQueue queue, long sequence) {
        ring.push(
                queue,
                sequence,
                sequence,
                WcStatus.WR_FLUSH_ERROR,
                WcOpcode.RECEIVE,
                0,
                0,
                CompletionRing.Extra.NONE);
    }
}
