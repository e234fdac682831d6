package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.testing.Lab;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.management.ManagementFactory;

/**
 * What a connection with one queue pair costs. Counted is everything that was allocated, garbage
 * included, so that the figures repeat and are never too small.
 */
class RoceFootprintTest {
    private static final int CONNECTIONS = 1_000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Bytes for each of the connections, connected and ready to send. */
    private static long bytesPerConnection(int depth) {
        Lab lab = new Lab(1);
        Lab.Node node = lab.addRoce(RocePackets.mtu(4096), plain -> plain);
        ProtectionDomain domain = node.device.allocProtectionDomain();
        CompletionQueue done = node.device.createCompletionQueue(2 * depth * CONNECTIONS);
        QueuePair other = node.device.connectByHand().createQueuePair(domain, done, done, 1, 1);
        RoceConnect end = other.localEnd();
        long before = THREADS.getCurrentThreadAllocatedBytes();
        for (int i = 1; i < CONNECTIONS; i++) {
            Connection connection = node.device.connectByHand();
            connection.createQueuePair(domain, done, done, depth, depth).connect(end);
            node.engine.drainPosted(lab.nowNs());
        }
        long bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
        assertThat(node.device.contextsInUse()).isZero();
        node.progress();
        assertThat(node.device.contextsInUse()).isEqualTo(CONNECTIONS);
        return bytes / CONNECTIONS;
    }

    /** Slots of the queues come with the first request. */
    @ParameterizedTest
    @ValueSource(ints = {1, 128})
    void anIdleConnectionTakesLessThanTwoKibibytesHoweverDeepItsQueuesAre(int depth) {
        bytesPerConnection(depth);

        assertThat(bytesPerConnection(depth)).isBetween(1024L, 2048L);
    }
}
