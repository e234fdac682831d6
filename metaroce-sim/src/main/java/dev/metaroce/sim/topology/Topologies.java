package dev.metaroce.sim.topology;

/** Builds the topologies that the field uses. */
public final class Topologies {
    private Topologies() {}

    /**
     * A fat tree of three tiers and full bisection: the smallest even k with k^3/4 host places, of
     * which the first are used. Each of k pods has k/2 edge and k/2 aggregation switches; core
     * switch (i, j) is joined to aggregation switch i of each pod.
     */
    public static Topology fatTree(int hosts, long rateBitsPerSecond, long delayPs) {
        int half = 1;
        while (2L * half * half * half < hosts) {
            half++;
        }
        int pods = 2 * half;
        Topology.Builder builder = Topology.builder("fat-tree", hosts, 1);
        int edges = hosts;
        for (int i = 0; i < pods * half; i++) {
            builder.addSwitch("pod%d.edge%d".formatted(i / half, i % half), 1, 0);
        }
        int aggregations = hosts + pods * half;
        for (int i = 0; i < pods * half; i++) {
            builder.addSwitch("pod%d.agg%d".formatted(i / half, i % half), 2, 0);
        }
        int cores = hosts + 2 * pods * half;
        for (int i = 0; i < half * half; i++) {
            builder.addSwitch("core%d".formatted(i), 3, 0);
        }
        for (int host = 0; host < hosts; host++) {
            builder.addLink(host, edges + host / half, rateBitsPerSecond, delayPs, 0);
        }
        for (int edge = 0; edge < pods * half; edge++) {
            int podStart = edge / half * half;
            for (int i = 0; i < half; i++) {
                builder.addLink(
                        edges + edge, aggregations + podStart + i, rateBitsPerSecond, delayPs, 0);
            }
        }
        for (int aggregation = 0; aggregation < pods * half; aggregation++) {
            for (int j = 0; j < half; j++) {
                int core = cores + aggregation % half * half + j;
                builder.addLink(aggregations + aggregation, core, rateBitsPerSecond, delayPs, 0);
            }
        }
        return builder.build();
    }
}
