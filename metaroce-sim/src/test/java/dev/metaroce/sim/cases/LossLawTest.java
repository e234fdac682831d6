package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What random loss costs, against the laws for it. For Go-Back-N all packets take one path, and the
 * way is as long as the receiver's window, so that N packets are in flight.
 */
class LossLawTest {
    private static final int PROFILE_S = 1;
    private static final int PROFILE_M = 2;

    private static final long PACKET_PS = Net.wirePs(Net.MTU + Net.DATA_OVERHEAD);
    private static final long SPAN_PS = 8 * Net.MS;

    /** Packets that were sent in the span of the run before. */
    private double offered;

    /** Payload per second of one endless Go-Back-N flow with so many packets in flight. */
    private double goBackN(int window, double loss) {
        return rate(
                Net.chain(2, Net.RATE, window * PACKET_PS / 4),
                Net.withoutHints()
                        .maxPaths(1)
                        .profiles(PROFILE_S)
                        // 512 bytes are counted for a packet beside its payload.
                        .receiveWindowBytes(window * (Net.MTU + 512L))
                        .build(),
                loss);
    }

    private double rate(Topology topology, DeviceLimits limits, double loss) {
        Net net = new Net(7, topology, limits);
        net.simulation.addFlow(0, 1, 1L << 31, 0);
        net.runUntil(Net.MS);
        net.simulation.fabric().fault(0, LinkFaults.Rates.ofLoss(loss), new Rng(7));
        net.runUntil(2 * Net.MS);
        long before = net.port(0).txPackets();
        double rate = net.rate(1, SPAN_PS);
        offered = net.port(0).txPackets() - before;
        return rate;
    }

    /** Everything behind the lost packet is thrown away: a whole window. */
    private static double wholeWindowLost(double p, double n) {
        return (1 - p) / (1 - p + p * n);
    }

    /** Half of the window had been acknowledged by then. */
    private static double halfWindowLost(double p, double n) {
        return 1 / (1 + p * n / 2);
    }

    @ParameterizedTest
    @CsvSource({
        "32,0.001",
        "32,0.003",
        "32,0.01",
        "64,0.001",
        "64,0.003",
        "64,0.01",
        "108,0.001",
        "108,0.003",
        "108,0.01"
    })
    void goBackNLosesBetweenHalfAWindowAndAWholeOnePerLoss(int n, double p) {
        double efficiency = goBackN(n, p) / goBackN(n, 0);

        // Losses are counted: three standard deviations of their number.
        double sigma = efficiency * (1 - efficiency) / Math.sqrt(p * offered);
        assertThat(efficiency)
                .isBetween(wholeWindowLost(p, n) - 3 * sigma, halfWindowLost(p, n) + 3 * sigma);
    }

    /**
     * With frequent loss a law of its own shows: there is one NAK for a gap, so that the first
     * packet, when it is lost again, is missed only by the tail probe. That takes two round trips
     * and two acknowledgement delays until it goes, and one more until its answer.
     */
    @ParameterizedTest
    @CsvSource({"32,0.03", "32,0.05", "64,0.03", "64,0.05"})
    void goBackNWaitsForAProbeWhenTheFirstPacketIsLostAgain(int n, double p) {
        double efficiency = goBackN(n, p) / goBackN(n, 0);

        double probePackets = 3.0 * n + 10.0 * Net.US / PACKET_PS;
        assertThat(efficiency / wholeWindowLost(p, n + p * probePackets))
                .isCloseTo(1, within(0.12));
    }

    @ParameterizedTest
    @CsvSource({"1,0.001", "1,0.01", "1,0.05", "1,0.1", "8,0.001", "8,0.01", "8,0.05", "8,0.1"})
    void selectiveRepeatLosesWhatIsLost(int paths, double p) {
        double rate =
                rate(
                        Net.chain(2, Net.RATE, 5 * Net.US),
                        Net.withoutHints().maxPaths(paths).profiles(PROFILE_M).build(),
                        p);
        double line = 1.0 * Net.RATE * Net.MTU / (Net.MTU + Net.DATA_OVERHEAD);

        double sigma = Math.sqrt(p * (1 - p) / offered);
        assertThat(rate / line).isCloseTo(1 - p, within(3 * sigma + 0.002));
    }
}
