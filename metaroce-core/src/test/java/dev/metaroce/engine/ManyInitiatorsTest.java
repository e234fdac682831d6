package dev.metaroce.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** More initiators than context ids: all are served, the receiver's memory does not notice. */
class ManyInitiatorsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long SERVICE = 7;
    private static final int WRITES = 4;
    private static final int BYTES = 16 << 10;

    private record Result(long tableBytes, int peakContexts, long grants) {}

    private static Result run(int initiators, ExhaustionPolicy policy) {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .maxPaths(1)
                        .policy(policy)
                        .receiveWindowBytes(4 << 20)
                        .build();
        Lab lab = new Lab(initiators);
        lab.latencyNs(20_000);
        lab.link(10_000_000_000L, Long.MAX_VALUE / 4, 4_000_000);
        Lab.Node server = lab.add(limits);
        ProtectionDomain domain = server.device.allocProtectionDomain();
        MemoryRegion memory =
                domain.register(
                        Arena.ofAuto().allocate((long) initiators * BYTES), Access.REMOTE_WRITE);
        CompletionQueue none = server.device.createCompletionQueue(2 * initiators);
        server.device.listen(
                SERVICE,
                (connection, data) -> {
                    connection.createQueuePair(domain, none, none, 1, 1);
                    return data;
                });
        List<CompletionQueue> queues = new ArrayList<>();
        for (int i = 0; i < initiators; i++) {
            queues.add(startInitiator(lab.add(limits), server, memory, i));
        }
        int[] peak = new int[1];
        WorkCompletion wc = new WorkCompletion();
        lab.expect(
                "all " + initiators + " initiators are served",
                () -> {
                    peak[0] = Math.max(peak[0], server.device.contextsInUse());
                    return queues.stream().allMatch(queue -> queue.size() == WRITES);
                },
                20 * SECOND);
        for (CompletionQueue queue : queues) {
            while (queue.poll(wc)) {
                assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            }
        }
        for (int i = 0; i < initiators; i++) {
            byte mark = memory.segment().get(java.lang.foreign.ValueLayout.JAVA_BYTE, at(i));
            assertThat(mark).as("first byte of initiator %d", i).isEqualTo((byte) (i + 1));
        }
        return new Result(
                server.device.contextTableBytes(), peak[0], server.count(CounterId.GRANTS));
    }

    private static long at(int initiator) {
        return (long) initiator * BYTES;
    }

    private static CompletionQueue startInitiator(
            Lab.Node node, Lab.Node server, MemoryRegion target, int number) {
        ProtectionDomain domain = node.device.allocProtectionDomain();
        CompletionQueue queue = node.device.createCompletionQueue(2 * WRITES);
        MemoryRegion source = domain.register(Arena.ofAuto().allocate(BYTES), 0);
        source.segment().fill((byte) (number + 1));
        Connection connection = node.device.connect(server.address, SERVICE, new byte[0]);
        QueuePair qp = connection.createQueuePair(domain, queue, queue, WRITES, WRITES);
        for (int i = 0; i < WRITES; i++) {
            qp.postWrite(i, source, 0, BYTES, target.address() + at(number), target.rkey());
        }
        return queue;
    }

    @Test
    @DisplayName("the receiver's context memory is the same for 1, 16 and 257 initiators")
    void contextMemoryDoesNotGrowWithInitiators() {
        Result one = run(1, ExhaustionPolicy.QUEUE);
        Result sixteen = run(16, ExhaustionPolicy.QUEUE);
        Result many = run(257, ExhaustionPolicy.QUEUE);

        assertThat(sixteen.tableBytes()).isEqualTo(one.tableBytes());
        assertThat(many.tableBytes()).isEqualTo(one.tableBytes());
        assertThat(one.peakContexts()).isEqualTo(1);
        assertThat(many.grants()).isGreaterThanOrEqualTo(257);
    }

    @ParameterizedTest
    @EnumSource(ExhaustionPolicy.class)
    @DisplayName("600 initiators share 256 contexts")
    void sixHundredInitiatorsShareTheContexts(ExhaustionPolicy policy) {
        Result result = run(600, policy);

        assertThat(result.peakContexts()).isLessThanOrEqualTo(256);
        assertThat(result.grants()).isGreaterThanOrEqualTo(600);
    }
}
