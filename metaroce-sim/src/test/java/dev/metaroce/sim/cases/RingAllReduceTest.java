package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A ring all-reduce of S bytes on n ranks: 2 (n - 1) steps, in each of which every rank sends S / n
 * to the next as soon as it has what the step before brought. It takes 2 (n - 1) S / (n B) at
 * least.
 */
class RingAllReduceTest {
    private static final long BYTES = 32L << 20;

    private final int[] rankOf = new int[4096];
    private final int[] stepOf = new int[4096];

    @ParameterizedTest
    @CsvSource({"2,false", "4,false", "8,false", "8,true"})
    void aRingAllReduceIsWithinATenthOfItsBound(int ranks, boolean hints) {
        Net net =
                new Net(
                        1,
                        Net.star(ranks, 1, Net.RATE, Net.US),
                        (hints ? Net.limits() : Net.withoutHints()).build());
        for (int rank = 0; rank < ranks; rank++) {
            net.timePs(rank, (rank + 1) % ranks, 64);
        }
        long startPs = net.simulation.nowPs();
        for (int rank = 0; rank < ranks; rank++) {
            send(net, rank, 0);
        }
        int steps = 2 * (ranks - 1);
        follow(net, ranks, steps);

        double tookPs = net.lastEndPs() - startPs;
        double boundPs = (double) steps * BYTES / ranks * 80;
        assertThat(net.flows.count()).isEqualTo(ranks + ranks * steps);
        assertThat(tookPs / boundPs).isBetween(1.0, 1.1);
    }

    private void send(Net net, int rank, int step) {
        int ranks = net.topology.hosts();
        int flow =
                net.simulation.addFlow(
                        rank, (rank + 1) % ranks, BYTES / ranks, net.simulation.nowPs());
        rankOf[flow] = rank;
        stepOf[flow] = step;
    }

    /** Each flow that ends lets its destination begin the next step. */
    private void follow(Net net, int ranks, int steps) {
        boolean[] seen = new boolean[rankOf.length];
        int ended = net.flows.ended();
        while (net.flows.ended() < net.flows.count() && net.simulation.run(1)) {
            if (net.flows.ended() == ended) {
                continue;
            }
            ended = net.flows.ended();
            for (int flow = ranks; flow < net.flows.count(); flow++) {
                if (!seen[flow] && !net.flows.isOpen(flow)) {
                    seen[flow] = true;
                    if (stepOf[flow] + 1 < steps) {
                        send(net, (rankOf[flow] + 1) % ranks, stepOf[flow] + 1);
                    }
                }
            }
        }
        assertThat(net.flows.failed()).isZero();
    }
}
