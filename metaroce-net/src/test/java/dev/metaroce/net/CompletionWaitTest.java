package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionChannel;
import dev.metaroce.verbs.CompletionQueue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads that sleep until a completion comes, on real sockets with a driver thread. */
@Timeout(60)
class CompletionWaitTest {
    private static final long FOR_EVER = Long.MAX_VALUE;

    /** Each WRITE is posted when the last one was awaited: one lost wake-up ends the test. */
    @Test
    void virtualThreadsWaitForEachOfManyWrites() throws Exception {
        try (UdpPair pair = UdpPair.direct(DriveMode.THREAD, DeviceLimits.defaults(), 4096);
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> application =
                    executor.submit(
                            () -> {
                                WorkCompletion wc = new WorkCompletion();
                                for (int i = 0; i < 5_000; i++) {
                                    pair.write(i, 0, 64);
                                    assertThat(pair.clientEnd.sendQueue.await(wc, FOR_EVER))
                                            .isTrue();
                                    assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
                                    assertThat(wc.wrId()).isEqualTo(i);
                                }
                            });
            application.get();
        }
    }

    /** One thread serves many queues of a device, each with a connection of its own. */
    @Test
    void oneThreadServesManyQueuesByTheirChannel() throws Exception {
        int queues = 8;
        int rounds = 300;
        try (UdpPair pair = UdpPair.direct(DriveMode.THREAD, DeviceLimits.defaults(), 4096);
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            CompletionChannel channel = pair.client.rdma().createCompletionChannel();
            List<CompletionQueue> all = new ArrayList<>();
            List<Runnable> writes = new ArrayList<>();
            for (int i = 0; i < queues; i++) {
                CompletionQueue queue = pair.client.rdma().createCompletionQueue(8, channel);
                writes.add(pair.writerOn(queue));
                all.add(queue);
                queue.requestNotify();
            }
            writes.forEach(Runnable::run);
            Future<int[]> server =
                    executor.submit(
                            () -> {
                                int[] served = new int[queues];
                                WorkCompletion wc = new WorkCompletion();
                                for (int n = 0; n < queues * rounds; ) {
                                    CompletionQueue ready = channel.take(FOR_EVER);
                                    int at = all.indexOf(ready);
                                    all.get(at).requestNotify();
                                    while (all.get(at).poll(wc)) {
                                        assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
                                        n++;
                                        if (++served[at] < rounds) {
                                            writes.get(at).run();
                                        }
                                    }
                                }
                                return served;
                            });
            assertThat(server.get()).containsOnly(rounds);
        }
    }

    @Test
    void closingTheDeviceEndsEveryWait() throws Exception {
        UdpPair pair = UdpPair.direct(DriveMode.THREAD, DeviceLimits.defaults(), 4096);
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            CompletionChannel channel = pair.client.rdma().createCompletionChannel();
            Future<?> taker = executor.submit(() -> channel.take(FOR_EVER));
            Future<?> waiter =
                    executor.submit(
                            () -> pair.clientEnd.sendQueue.await(new WorkCompletion(), FOR_EVER));
            pair.close();
            for (Future<?> waiting : List.of(taker, waiter)) {
                assertThatThrownBy(waiting::get)
                        .isInstanceOf(ExecutionException.class)
                        .hasCauseInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("the device is closed");
            }
        }
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() throws Exception {
        try (UdpPair pair = UdpPair.direct(DriveMode.THREAD, DeviceLimits.defaults(), 4096);
                ExecutorService executor = Executors.newSingleThreadExecutor()) {
            Future<Boolean> waiter =
                    executor.submit(
                            () -> {
                                Thread.currentThread().interrupt();
                                boolean got =
                                        pair.clientEnd.sendQueue.await(
                                                new WorkCompletion(), FOR_EVER);
                                return !got && Thread.interrupted();
                            });
            assertThat(waiter.get()).isTrue();
        }
    }

    /** The waiting thread drives its own device; the other one has a thread. */
    @Test
    void inlineTheWaitingThreadDrives() {
        try (UdpPair pair = UdpPair.direct(DriveMode.INLINE, DeviceLimits.defaults(), 4096)) {
            WorkCompletion wc = new WorkCompletion();
            pair.write(1, 0, 64);
            assertThat(pair.clientEnd.sendQueue.await(wc, 1_000_000))
                    .as("nobody answers")
                    .isFalse();
            pair.server.rdma().progress();
            pair.await("answered", () -> pair.clientEnd.sendQueue.size() == 1);
            assertThat(pair.clientEnd.sendQueue.await(wc, 0)).isTrue();
        }
    }
}
