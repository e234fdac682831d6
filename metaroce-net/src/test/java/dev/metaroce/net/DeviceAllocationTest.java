package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.management.ManagementFactory;
import java.util.Objects;

/**
 * Two devices on Linux sockets, driven by one thread: no bytes are allocated per packet. Over
 * java.nio only the port itself is held to that: the JDK makes an address object whenever the
 * sender is another, as it is when answers take turns over the routes.
 */
@Timeout(120)
class DeviceAllocationTest {
    private static final int ROUNDS_MAX = 5000;

    /**
     * The smallest object has 16 bytes. What is called once a millisecond, to look at the path
     * sockets, is not compiled for a long time, and allocates until then.
     */
    private static final double BYTES_PER_PACKET_MAX = 0.5;

    private final WorkCompletion completion = new WorkCompletion();

    @ParameterizedTest
    @CsvSource({"65536, 8", "64, 8", "64, 1"})
    void nothingIsAllocatedPerPacketOnceTheCodeIsCompiled(int messageBytes, int paths) {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().maxPaths(paths).build();
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (UdpPair pair = UdpPair.over(SocketKind.LINUX, limits, messageBytes)) {
            double bytesPerPacket = Double.MAX_VALUE;
            for (int i = 0; i < ROUNDS_MAX && bytesPerPacket >= BYTES_PER_PACKET_MAX; i++) {
                long packets = pair.serverEnd.count(CounterId.RX_PACKETS);
                long before = threads.getCurrentThreadAllocatedBytes();
                write(pair, messageBytes, 1000);
                long allocated = threads.getCurrentThreadAllocatedBytes() - before;
                packets = pair.serverEnd.count(CounterId.RX_PACKETS) - packets;
                bytesPerPacket = (double) allocated / packets;
            }
            assertThat(bytesPerPacket).isLessThan(BYTES_PER_PACKET_MAX);
        }
    }

    private void write(UdpPair pair, int messageBytes, int messages) {
        QueuePair queue = Objects.requireNonNull(pair.clientEnd.pair);
        int posted = 0;
        int completed = 0;
        while (completed < messages) {
            while (posted < messages && posted - completed < 32) {
                PostResult result =
                        queue.postWrite(
                                posted,
                                pair.clientEnd.region,
                                0,
                                messageBytes,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey());
                if (result != PostResult.OK) {
                    throw new AssertionError(result);
                }
                posted++;
            }
            pair.client.rdma().progress();
            pair.server.rdma().progress();
            while (pair.clientEnd.sendQueue.poll(completion)) {
                if (completion.status() != WcStatus.SUCCESS) {
                    throw new AssertionError(completion.status());
                }
                completed++;
            }
        }
    }
}
