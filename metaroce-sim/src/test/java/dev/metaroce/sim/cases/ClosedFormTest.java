package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Times and rates that follow from a formula, with no loss and no queue in the way. */
class ClosedFormTest {
    /**
     * The last packet leaves when all have been serialized, is stored and forwarded at each switch
     * behind full packets, and its ACK of one path comes back over as many links.
     */
    private static long warmWritePs(long bytes, int links, long delayPs) {
        long first = Net.wirePs(Math.min(bytes, Net.MTU) + Net.DATA_OVERHEAD);
        long all = Net.wirePs(Net.wireBytes(bytes));
        long back = links * (Net.wirePs(Net.ACK_BYTES) + delayPs);
        return all + (links - 1) * first + links * delayPs + back;
    }

    @ParameterizedTest
    @CsvSource({
        "1,1", "1,4096", "2,1", "2,64", "2,4096", "4,1", "4,1000", "4,4096", "6,1", "6,4096"
    })
    void aPacketIsStoredAndForwardedAtEverySwitch(int links, int bytes) {
        Net net = warm(links, Net.US);

        assertThat(net.timePs(0, 1, bytes))
                .isCloseTo(warmWritePs(bytes, links, Net.US), within(Net.NS));
    }

    @ParameterizedTest
    @CsvSource({"1,2", "1,1000", "2,2", "2,33", "2,1000", "4,100", "6,2", "6,1000"})
    void aWarmWriteTakesOneSerializationPerPacketAndLink(int links, int packets) {
        Net net = warm(links, Net.US);
        long bytes = (long) packets * Net.MTU;

        assertThat(net.timePs(0, 1, bytes))
                .isCloseTo(warmWritePs(bytes, links, Net.US), within(Net.NS));
        assertThat(net.count(0, CounterId.DATA_RESENT)).isZero();
    }

    private static Net warm(int links, long delayPs) {
        Net net =
                new Net(
                        1,
                        Net.chain(links, Net.RATE, delayPs),
                        Net.withoutHints().maxPaths(1).build());
        // Until the window holds more than the way does.
        net.timePs(0, 1, 4 << 20);
        return net;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void twoFlowsHalveALinkBetweenThem(boolean hints) {
        Net net =
                new Net(
                        1,
                        Net.dumbbell(2, Net.RATE, Net.US),
                        (hints ? Net.limits() : Net.withoutHints()).build());
        long bytes = 32L << 20;
        net.simulation.addFlow(0, 2, bytes, 0);
        net.simulation.addFlow(1, 3, bytes, 0);
        net.runToEnd();

        long alonePs = Net.wirePs(Net.wireBytes(bytes));
        for (int flow = 0; flow < 2; flow++) {
            assertThat((double) alonePs / net.durationPs(flow)).isCloseTo(0.5, within(0.015));
        }
        assertThat(2.0 * alonePs / net.lastEndPs()).isBetween(0.97, 1.0);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 8, 32})
    void anIncastEndsNoEarlierThanTheLinkOfItsReceiverCanCarryIt(int senders) {
        Net net =
                new Net(1, Net.star(senders + 1, 1, Net.RATE, Net.US), Net.withoutHints().build());
        long bytes = 1 << 20;
        for (int sender = 0; sender < senders; sender++) {
            net.simulation.addFlow(sender, senders, bytes, 0);
        }
        net.runToEnd();

        long roundTripPs = 4 * Net.US;
        assertThat(net.lastEndPs())
                .isGreaterThan(senders * Net.wirePs(Net.wireBytes(bytes)) + roundTripPs);
    }

    @ParameterizedTest
    @CsvSource({"4,2", "8,5"})
    void aPlaneThatIsDownTakesItsPartOfTheRateAndNoMore(int planes, int down) {
        double all = rate(planes, -1);
        double rest = rate(planes, down);

        assertThat(all / (planes * PAYLOAD_RATE)).isBetween(0.98, 1.0);
        assertThat(rest / all).isCloseTo((planes - 1.0) / planes, within(0.01));
    }

    /** Payload of full packets at 100 Gb/s, bits per second. */
    private static final double PAYLOAD_RATE =
            1.0 * Net.RATE * Net.MTU / (Net.MTU + Net.DATA_OVERHEAD);

    /** Rate of a long flow over planes, one of them down from the start. */
    private static double rate(int planes, int down) {
        Net net =
                new Net(
                        1,
                        Net.star(2, planes, Net.RATE, Net.US),
                        Net.withoutHints().routes(8 * planes).build());
        if (down >= 0) {
            net.simulation.fabric().setDown(0, 2 * down, true);
            net.simulation.fabric().setDown(0, 2 * down + 1, true);
        }
        net.simulation.addFlow(0, 1, 1L << 30, 0);
        return net.runUntil(Net.MS / 2).rate(1, Net.MS);
    }
}
