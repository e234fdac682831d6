package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case M11: acknowledgements are coalesced over a whole flow, and none is waited for. */
class AckCasesTest {
    private static final int PACKETS_PER_ACK = 20;

    /**
     * One ACK for twenty packets, and hours until one that nobody asked for. The receiver's link
     * takes what all send: a queue would be marked, and marks are told at once.
     */
    private static Net net(int senders) {
        DeviceLimits limits =
                Net.withoutHints()
                        .ackBytes(PACKETS_PER_ACK * Net.MTU)
                        .ackDelayNs(3_600_000_000_000L)
                        .rtoFloorNs(3_600_000_000_000L)
                        .build();
        Topology.Builder star = Topology.builder("star", senders + 1, 1);
        int hub = star.addSwitch("hub", 1, 0);
        for (int sender = 0; sender < senders; sender++) {
            star.addLink(sender, hub, Net.RATE, Net.US, 0);
        }
        star.addLink(senders, hub, senders * Net.RATE, Net.US, 0);
        Net net = new Net(1, star.build(), limits);
        // Windows that fill up ask for an ACK each: let them grow first.
        for (int sender = 0; sender < senders; sender++) {
            net.timePs(sender, senders, 4 << 20);
        }
        return net;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 19, 20, 21, 10_007})
    @DisplayName("M11: one ACK per 20 packets, and the end follows the last packet at once")
    void m11OneAckPerTwentyPackets(int packets) {
        Net net = net(1);
        long before = net.count(1, CounterId.ACKS_SENT);
        long tookPs = net.timePs(0, 1, (long) packets * Net.MTU);

        long acks = net.count(1, CounterId.ACKS_SENT) - before;
        assertThat(acks).isBetween(packets / 20 - 2L, packets / 20 + 2L);
        // An ACK may carry records of all eight paths.
        long largestAckPs = Net.wirePs(Net.ACK_BYTES + 7 * 16);
        long packetPs = Net.wirePs(Net.MTU + Net.DATA_OVERHEAD);
        assertThat(tookPs)
                .isLessThanOrEqualTo((packets + 1) * packetPs + 2 * largestAckPs + 4 * Net.US);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 19, 20, 21, 10_007})
    @DisplayName("M11: the same for two at a time, of one sender and of two")
    void m11TwoAtATime(int packets) {
        long bytes = (long) packets * Net.MTU;
        for (int senders = 1; senders <= 2; senders++) {
            Net net = net(senders);
            long before = net.count(senders, CounterId.ACKS_SENT);
            long startPs = net.simulation.nowPs();
            net.simulation.addFlow(0, senders, bytes, startPs);
            net.simulation.addFlow(senders - 1, senders, bytes, startPs);
            net.runToEnd();

            long acks = net.count(senders, CounterId.ACKS_SENT) - before;
            assertThat(acks).isBetween(2 * packets / 20 - 4L, 2 * packets / 20 + 4L);
            long packetPs = Net.wirePs(Net.MTU + Net.DATA_OVERHEAD);
            assertThat(net.lastEndPs() - startPs)
                    .isLessThanOrEqualTo((2L / senders * packets + 2) * packetPs + 5 * Net.US);
        }
    }

    /**
     * MR-4.2-5. Half of the paths take 20 us longer: the last packet, which asks, comes before
     * others of its message on other paths, and nobody asks again.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    @DisplayName("M11: the last of a message that does not come last is not waited for")
    void m11AMessageThatIsCompletedByAnEarlierPacketIsAnswered(long seed) {
        DeviceLimits limits =
                Net.withoutHints()
                        .ackBytes(1 << 20)
                        .ackDelayNs(3_600_000_000_000L)
                        .rtoFloorNs(3_600_000_000_000L)
                        .build();
        Topology.Builder ways = Topology.builder("two ways", 2, 1);
        int near = ways.addSwitch("near", 1, 0);
        int far = ways.addSwitch("far", 1, 0);
        int fast = ways.addSwitch("fast", 2, 0);
        int slow = ways.addSwitch("slow", 2, 0);
        ways.addLink(0, near, Net.RATE, Net.US, 0);
        ways.addLink(near, fast, Net.RATE, Net.US, 0);
        ways.addLink(near, slow, Net.RATE, 21 * Net.US, 0);
        ways.addLink(fast, far, Net.RATE, Net.US, 0);
        ways.addLink(slow, far, Net.RATE, Net.US, 0);
        ways.addLink(far, 1, Net.RATE, Net.US, 0);
        Net net = new Net(seed, ways.build(), limits);

        long tookPs = net.timePs(0, 1, 16 * Net.MTU);

        // REQUEST and GRANT, then data and ACK, each way at most 24 us; and 16 packets.
        assertThat(tookPs).isLessThan(110 * Net.US);
    }
}
