package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.Marking;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;

/** Cases G01 to G04: what windows and hints do where senders meet. */
class CongestionCasesTest {
    private static final long PACKET_PS = Net.wirePs(Net.MTU + Net.DATA_OVERHEAD);

    /** Two links there and back, with a packet and its ACK. */
    private static final long ROUND_TRIP_PS =
            4 * Net.US + 2 * PACKET_PS + 2 * Net.wirePs(Net.ACK_BYTES);

    private static final int MARK_BYTES = FabricConfig.defaults().marking().fromBytes();

    /** What was seen of an incast. */
    private record Incast(double jain, double overBound, long lost, long belowMarkPs, long queue) {}

    private static Incast incast(int senders, boolean hints) {
        DeviceLimits limits = (hints ? Net.limits() : Net.withoutHints()).build();
        Net net = new Net(1, Net.star(senders + 1, 1, Net.RATE, Net.US), limits);
        long bytes = 1 << 20;
        for (int sender = 0; sender < senders; sender++) {
            net.simulation.addFlow(sender, senders, bytes, 0);
        }
        // A lease costs a round trip before the first packet.
        net.runUntil(2 * ROUND_TRIP_PS);
        long lostBefore = net.lost(port -> true);
        long firstPs = 0;
        long belowMarkPs = 0;
        int bottleneck = 2 * senders + 1;
        long startBytes = net.port(bottleneck).txBytes();
        while (net.flows.ended() == 0) {
            if (firstPs == 0 && net.port(bottleneck).txBytes() - startBytes > Net.MTU) {
                firstPs = net.simulation.nowPs();
            }
            if (net.port(bottleneck).queueBytes() >= MARK_BYTES) {
                belowMarkPs = net.simulation.nowPs();
            }
            net.simulation.run(1);
        }
        net.runToEnd();

        double[] rates = new double[senders];
        for (int flow = 0; flow < senders; flow++) {
            rates[flow] = 1.0 / net.durationPs(flow);
        }
        double boundPs = senders * bytes * 80.0 + ROUND_TRIP_PS;
        return new Incast(
                Net.jain(rates),
                net.lastEndPs() / boundPs,
                net.lost(port -> true) - lostBefore,
                Math.max(0, belowMarkPs - firstPs),
                net.port(bottleneck).queueBytesMax());
    }

    @ParameterizedTest
    @CsvSource({"8,true", "8,false", "32,true", "32,false", "64,true", "64,false"})
    @DisplayName("G01: an incast is fair, loses nothing and ends within 15 % of its bound")
    void g01AnIncastIsFairAndEndsInTime(int senders, boolean hints) {
        Incast seen = incast(senders, hints);

        assertThat(seen.jain).isGreaterThanOrEqualTo(0.9);
        assertThat(seen.overBound).isBetween(1.0, 1.15);
        assertThat(seen.lost).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 32, 64})
    @DisplayName("G01: with hints the queue is below the marks within two round trips")
    void g01HintsKeepTheQueueShort(int senders, TestReporter reporter) {
        Incast with = incast(senders, true);
        Incast without = incast(senders, false);
        String seen = "%d senders with hints: %s, without: %s".formatted(senders, with, without);
        reporter.publishEntry(seen);

        assertThat(with.queue).as(seen).isLessThan(without.queue / 2);
        assertThat(with.belowMarkPs).as(seen).isLessThanOrEqualTo(2 * ROUND_TRIP_PS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("G02: three newcomers and an old flow share a link within 200 round trips")
    void g02NewcomersGetTheirShare(boolean hints) {
        DeviceLimits limits = (hints ? Net.limits() : Net.withoutHints()).build();
        Net net = new Net(1, Net.star(5, 1, Net.RATE, Net.US), limits);
        for (int sender = 0; sender < 4; sender++) {
            net.simulation.addFlow(sender, 4, 1L << 31, sender == 0 ? 0 : 5 * Net.MS);
        }
        net.runUntil(5 * Net.MS + 200 * ROUND_TRIP_PS);
        long[] before = new long[5];
        long spanPs = 100 * ROUND_TRIP_PS;
        for (int sender = 0; sender < 4; sender++) {
            before[sender] = net.port(2 * sender).txBytes();
            before[4] += before[sender];
        }
        long receivedBefore = net.port(9).txBytes();
        net.runUntil(net.simulation.nowPs() + spanPs);

        double line = spanPs / 80.0;
        for (int sender = 0; sender < 4; sender++) {
            double share = (net.port(2 * sender).txBytes() - before[sender]) / line;
            assertThat(share).as("part of sender " + sender).isBetween(0.75 / 4, 1.25 / 4);
        }
        assertThat((net.port(9).txBytes() - receivedBefore) / line).isGreaterThan(0.9);
    }

    /**
     * Beside a busy flow another sends a little now and then, so that its hint becomes small; what
     * is measured of one that may send no more must not be taken for what it wants.
     */
    @Test
    @DisplayName("G02: a flow that becomes busy gets its share at once")
    void g02AFlowThatBecomesBusyGetsItsShare() {
        Net net = new Net(1, Net.star(3, 1, Net.RATE, Net.US), Net.limits().build());
        net.simulation.addFlow(0, 2, 1L << 31, 0);
        for (int i = 0; i < 205; i++) {
            net.simulation.addFlow(1, 2, 64, i * 100 * Net.US);
        }
        // In the middle of a period of measuring; 64 KiB go at once.
        long startPs = 20 * Net.MS + 500 * Net.US;
        int burst = net.simulation.addFlow(1, 2, 8 << 20, startPs);
        net.runUntil(startPs + 3 * Net.MS);

        assertThat(net.flows.isOpen(burst)).isFalse();
        double halfRatePs = 2 * Net.wirePs(Net.wireBytes(8 << 20));
        assertThat(net.durationPs(burst) / halfRatePs).isLessThan(1.3);
    }

    @ParameterizedTest
    @CsvSource({"1,1", "8,1", "1,12", "8,12"})
    @DisplayName("G03: marks on everything leave a packet per round trip and path, and pass")
    void g03MarksOnEverythingPass(int paths, int delayUs) {
        DeviceLimits limits = Net.withoutHints().maxPaths(paths).build();
        Net net = new Net(1, Net.star(2, 1, Net.RATE, delayUs * Net.US), limits);
        net.simulation.addFlow(0, 1, 1L << 31, 0);
        net.runUntil(Net.MS);
        double line = net.rate(1, Net.MS);
        net.simulation.fabric().markFrom(3, 0);
        net.runUntil(12 * Net.MS);

        // The least: one packet per path and round trip; 5 us is the acknowledgement delay.
        long roundTripPs = ROUND_TRIP_PS + 4L * (delayUs - 1) * Net.US;
        double least = 1.0 * paths * Net.MTU * 8 * Net.SECOND / (roundTripPs + 5 * Net.US);
        for (int i = 0; i < 40; i++) {
            assertThat(net.rate(1, Net.MS)).isGreaterThan(0.9 * Math.min(least, line));
        }
        net.simulation.fabric().markFrom(3, MARK_BYTES);
        // Then a packet more per round trip and path.
        double packets = (double) roundTripPs / PACKET_PS / paths;
        net.runUntil(net.simulation.nowPs() + (long) ((packets + 2) * roundTripPs));
        assertThat(net.rate(1, Net.MS)).isGreaterThan(0.9 * line);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 32})
    @DisplayName("G04a: without any mark, loss and delay keep an incast going")
    void g04MarksNeverArrive(int senders) {
        FabricConfig unmarked =
                FabricConfig.defaults().toBuilder()
                        .bufferBytesPer100G(64 << 10)
                        .marking(Marking.step(Integer.MAX_VALUE))
                        .build();
        Net net =
                new Net(
                        Net.star(senders + 1, 1, Net.RATE, Net.US),
                        new SimConfig(1, Net.withoutHints().build(), unmarked));
        long bytes = 1 << 20;
        for (int sender = 0; sender < senders; sender++) {
            net.simulation.addFlow(sender, senders, bytes, 0);
        }
        net.runToEnd();

        assertThat(net.countAll(CounterId.CE_PACKETS)).isZero();
        assertThat(net.lost(port -> true)).isPositive();
        double boundPs = senders * bytes * 80.0 + ROUND_TRIP_PS;
        assertThat(net.lastEndPs() / boundPs).isLessThan(1.5);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 32})
    @DisplayName("G04a: the field is cleared before the receiver: counted, told, and it goes on")
    void g04MarksAreClearedOnTheWay(int senders) {
        int[] told = new int[senders + 1];
        Application application =
                new Application() {
                    @Override
                    public EventSink events(int host) {
                        return (nowNs, id, a, b, c) ->
                                told[host] += id == EventId.ECN_MISSING ? 1 : 0;
                    }
                };
        FabricConfig small =
                FabricConfig.defaults().toBuilder().bufferBytesPer100G(64 << 10).build();
        SimConfig config = new SimConfig(1, Net.withoutHints().build(), small);
        Net net = new Net(Net.star(senders + 1, 1, Net.RATE, Net.US), config, application);
        net.simulation.fabric().clearEcnTo(senders);
        long bytes = 1 << 20;
        for (int sender = 0; sender < senders; sender++) {
            net.simulation.addFlow(sender, senders, bytes, 0);
        }
        net.runToEnd();

        assertThat(net.port(2 * senders + 1).marks()).as("the network marks").isPositive();
        assertThat(net.countAll(CounterId.CE_PACKETS)).isZero();
        assertThat(net.count(senders, CounterId.NOT_ECT_PACKETS))
                .isEqualTo(net.count(senders, CounterId.DATA_ACCEPTED));
        assertThat(told[senders]).as("warnings, one per connection").isEqualTo(senders);
        assertThat(Arrays.stream(told).sum()).isEqualTo(senders);
        double boundPs = senders * bytes * 80.0 + ROUND_TRIP_PS;
        assertThat(net.lastEndPs() / boundPs).isLessThan(1.5);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8})
    @DisplayName("G04b: marks on everything from the first packet on leave the least rate")
    void g04MarksOnTheFirstPacket(int paths) {
        DeviceLimits limits = Net.withoutHints().maxPaths(paths).build();
        Net net = new Net(1, Net.star(2, 1, Net.RATE, 12 * Net.US), limits);
        net.simulation.fabric().markFrom(3, 0);
        long tookPs = net.timePs(0, 1, 1 << 20);

        long roundTripPs = ROUND_TRIP_PS + 44 * Net.US;
        long packets = (1 << 20) / Net.MTU;
        assertThat(net.count(1, CounterId.CE_PACKETS)).isEqualTo(packets);
        assertThat(tookPs).isLessThan((packets / paths + 2) * (roundTripPs + 5 * Net.US));
    }
}
