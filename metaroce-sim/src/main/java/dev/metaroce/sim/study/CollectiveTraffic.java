package dev.metaroce.sim.study;

import dev.metaroce.sim.workload.FlowList;

/** Flows as collective operations send them; rank i is host i. */
public final class CollectiveTraffic {
    private CollectiveTraffic() {}

    /**
     * A ring all-reduce: 2 (n - 1) steps, in each of which every rank sends a chunk to the next
     * rank as soon as the chunk of the step before arrived, which is when its sender knows that.
     *
     * @param ranks 2 or more
     * @param chunkBytes an n-th of what is reduced
     */
    public static FlowList ringAllReduce(int ranks, long chunkBytes) {
        FlowList.Builder flows = FlowList.builder("ring", ranks);
        int steps = 2 * (ranks - 1);
        int[] arrived = new int[ranks];
        for (int step = 0; step < steps; step++) {
            int[] next = new int[ranks];
            for (int rank = 0; rank < ranks; rank++) {
                int to = (rank + 1) % ranks;
                int flow =
                        step == 0
                                ? flows.add(rank, to, 0, chunkBytes)
                                : flows.addTriggered(rank, to, arrived[rank], chunkBytes);
                if (step + 1 < steps) {
                    next[to] = flows.addBarrier(1);
                    flows.setsOff(flow, next[to]);
                }
            }
            arrived = next;
        }
        return flows.build();
    }

    /**
     * Every rank sends to every other one at once, each beginning with the next rank.
     *
     * @param ranks 2 or more
     * @param bytes from each to each
     */
    public static FlowList allToAll(int ranks, long bytes) {
        FlowList.Builder flows = FlowList.builder("all-to-all", ranks);
        for (int rank = 0; rank < ranks; rank++) {
            for (int distance = 1; distance < ranks; distance++) {
                flows.add(rank, (rank + distance) % ranks, 0, bytes);
            }
        }
        return flows.build();
    }
}
