package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Seeded;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.Connection;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;

/** Flows between real engines in virtual time: every run ends, with exactly its messages. */
class BandwidthFlowTest {
    private static final int STEPS_MAX = 2_000_000;

    /** A client and a server whose flows run as those of the perf command do. */
    private static final class Ends {
        final Lab lab;
        final Lab.Node client;
        final Lab.Node server;
        final Peer[] peers = new Peer[2];
        final Landing[] landings = new Landing[2];
        final BandwidthFlow[] flows = new BandwidthFlow[2];
        final BandwidthMeter[] meters = new BandwidthMeter[2];

        Ends(long seed, PerfParameters parameters) {
            lab = new Lab(seed);
            client = lab.add(DeviceLimits.defaults());
            server = lab.add(DeviceLimits.defaults());
            server.device.listen(
                    PerfParameters.SERVICE,
                    request -> {
                        peers[1] = Peer.accept(server.device, request.connection(), parameters);
                        request.accept();
                    });
            Connection connection =
                    client.device.connect(server.address, PerfParameters.SERVICE, new byte[0]);
            peers[0] = Peer.accept(client.device, connection, parameters);
            lab.expect("open", () -> connection.state() == ConnectionState.OPEN, 1_000_000_000);
            for (int i = 0; i < 2; i++) {
                peers[i].fillSource();
                landings[i] = new Landing(peers[i]);
                landings[i].prepare(parameters.maxMessageBytes());
            }
            peers[0].remote = peers[1].landing().descriptor();
            peers[1].remote = peers[0].landing().descriptor();
        }

        /** Both ends send at once. */
        void run(long messageBytes, long iterations, long durationNs) {
            begin(messageBytes, iterations, durationNs);
            int steps = 0;
            while (!flows[0].isDone() || !flows[1].isDone()) {
                turn();
                lab.step();
                assertThat(++steps).as("steps").isLessThan(STEPS_MAX);
            }
        }

        void begin(long messageBytes, long iterations, long durationNs) {
            for (int i = 0; i < 2; i++) {
                meters[i] = new BandwidthMeter(0);
                flows[i] =
                        new BandwidthFlow(
                                peers[i], messageBytes, iterations, durationNs, meters[i]);
            }
        }

        void turn() {
            for (int i = 0; i < 2; i++) {
                landings[i].repost();
                flows[i].step(lab.nowNs());
            }
        }
    }

    private static PerfParameters parameters(
            PerfTest test, long bytes, int qps, Posting posting, long seed) {
        return new PerfParameters(test, true, false, bytes, qps, posting, 1, 1, seed);
    }

    @Seeded(cases = 60)
    @DisplayName("I08, I10: both directions end, counted or timed, whatever is posted how")
    void bothDirectionsEndWithExactlyTheirMessages(long seed) {
        Rng rng = new Rng(seed);
        PerfTest test = rng.nextInt(2) == 0 ? PerfTest.WRITE_BW : PerfTest.SEND_BW;
        int depth = 1 + rng.nextInt(130);
        Posting posting = new Posting(depth, 1 + rng.nextInt(depth), 1 + rng.nextInt(depth));
        long bytes = 1 + rng.nextInt(3) * rng.nextInt(20_000);
        int qps = 1 + rng.nextInt(4);
        boolean timed = rng.nextInt(2) == 0;
        long iterations = 1 + rng.nextInt(600);
        Ends ends = new Ends(seed, parameters(test, bytes, qps, posting, seed));
        Rng dice = rng.fork("loss");
        int lossPermille = rng.nextInt(3) * 10;
        ends.lab.addFault(packet -> dice.nextInt(1000) < lossPermille ? 0 : 1);

        ends.run(bytes, iterations, timed ? 1_000_000 : 0);

        for (int i = 0; i < 2; i++) {
            BandwidthMeter meter = ends.meters[i];
            assertThat(meter.completions()).isEqualTo(meter.posts()).isPositive();
            if (timed) {
                assertThat(meter.elapsedNs()).isGreaterThanOrEqualTo(900_000);
            } else {
                assertThat(meter.completions()).isEqualTo(iterations * qps);
            }
            ends.landings[i].repost();
            assertThat(ends.landings[i].isIntact(bytes)).isTrue();
        }
    }

    @Test
    @DisplayName("I10: 1003 messages, lists of 128, one completion in 100")
    void aCountThatIsNoMultipleOfTheBatchIsKept() {
        for (long iterations : new long[] {1, 1003}) {
            Posting posting = new Posting(128, 128, 100);
            Ends ends = new Ends(7, parameters(PerfTest.WRITE_BW, 64, 1, posting, 7));

            ends.run(64, iterations, 0);

            assertThat(ends.meters[0].completions()).isEqualTo(iterations);
            assertThat(ends.client.count(CounterId.DATA_SENT)).isEqualTo(iterations);
            assertThat(ends.server.count(CounterId.DATA_SENT)).isEqualTo(iterations);
        }
    }

    @Test
    void postingAndReapingAllocateNothing() {
        Posting posting = new Posting(128, 1, 16);
        Ends ends = new Ends(7, parameters(PerfTest.WRITE_BW, 64, 2, posting, 7));
        ends.begin(64, Long.MAX_VALUE, 0);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long allocated = 0;
        for (int i = 0; i < 50_000; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            ends.turn();
            // The first turns link what they call.
            allocated += i < 10_000 ? 0 : threads.getCurrentThreadAllocatedBytes() - before;
            ends.lab.step();
        }

        long messages = ends.meters[0].completions() + ends.meters[1].completions();
        assertThat(messages).isGreaterThan(10_000);
        // Not one object per hundred messages: what is left is the JVM's own.
        assertThat(allocated).isLessThan(messages / 10);
    }
}
