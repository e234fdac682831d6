package dev.metaroce.sim.topology;

/**
 * Builds the topologies that the field uses. Switches and links come plane by plane; within a plane
 * the links of the hosts come first, in order of the hosts.
 */
public final class Topologies {
    private final TopologySpec spec;
    private final Topology.Builder builder;
    private int plane;

    private Topologies(TopologySpec spec) {
        this.spec = spec;
        builder = Topology.builder(spec.kind().toString(), spec.hosts(), spec.planes());
    }

    public static Topology build(TopologySpec spec) {
        Topologies made = new Topologies(spec);
        for (int plane = 0; plane < spec.planes(); plane++) {
            made.plane = plane;
            made.addPlane();
        }
        return made.builder.build();
    }

    private void addPlane() {
        switch (spec.kind()) {
            case PAIR -> link(0, 1, spec.hostRateBitsPerSecond());
            case STAR -> spreadHosts(addSwitches("switch", 1, 1), 1);
            case DUMBBELL -> addDumbbell();
            case RING -> addRing();
            case LEAF_SPINE -> addLeafSpine();
            case FAT_TREE -> addFatTree();
        }
    }

    private void addDumbbell() {
        int left = addSwitches("side", 2, 1);
        spreadHosts(left, 2);
        link(left, left + 1);
    }

    private void addRing() {
        int switches = spec.switches();
        int first = addSwitches("ring", switches, 1);
        spreadHosts(first, switches);
        for (int i = 0; i < switches; i++) {
            link(first + i, first + (i + 1) % switches);
        }
    }

    private void addLeafSpine() {
        int leaves = addSwitches("leaf", spec.leaves(), 1);
        int spines = addSwitches("spine", spec.spines(), 2);
        spreadHosts(leaves, spec.leaves());
        for (int leaf = 0; leaf < spec.leaves(); leaf++) {
            for (int spine = 0; spine < spec.spines(); spine++) {
                link(leaves + leaf, spines + spine);
            }
        }
    }

    /**
     * The smallest even k with k^3/4 host places, of which the first are used: k pods of k/2 edge
     * and k/2 aggregation switches each, and k/2 core switches above the i-th of every pod.
     */
    private void addFatTree() {
        int half = 1;
        while (2L * half * half * half < spec.hosts()) {
            half++;
        }
        int inPods = 2 * half * half;
        int edges = addSwitches("edge", inPods, 1);
        int aggregations = addSwitches("agg", inPods, 2);
        int cores = addSwitches("core", half * half, 3);
        for (int host = 0; host < spec.hosts(); host++) {
            addHost(host, edges + host / half);
        }
        for (int edge = 0; edge < inPods; edge++) {
            int pod = edge / half;
            for (int i = 0; i < half; i++) {
                link(edges + edge, aggregations + pod * half + i);
            }
        }
        for (int aggregation = 0; aggregation < inPods; aggregation++) {
            for (int i = 0; i < half; i++) {
                link(aggregations + aggregation, cores + aggregation % half * half + i);
            }
        }
    }

    /** Adds switches of one tier and gives the first. */
    private int addSwitches(String name, int count, int tier) {
        String prefix = spec.planes() == 1 ? name : "plane" + plane + "." + name;
        int first = builder.addSwitch(prefix + 0, tier, plane);
        for (int i = 1; i < count; i++) {
            builder.addSwitch(prefix + i, tier, plane);
        }
        return first;
    }

    /** Hangs the hosts in order on some switches, on each as many as on the others or one less. */
    private void spreadHosts(int firstSwitch, int switches) {
        for (int host = 0; host < spec.hosts(); host++) {
            addHost(host, firstSwitch + (int) ((long) host * switches / spec.hosts()));
        }
    }

    private void addHost(int host, int above) {
        builder.addLink(host, above, spec.hostRateBitsPerSecond(), spec.delayPs(), plane);
    }

    private void link(int a, int b) {
        link(a, b, spec.linkRateBitsPerSecond());
    }

    private void link(int a, int b, long rateBitsPerSecond) {
        for (int i = 0; i < spec.parallel(); i++) {
            builder.addLink(a, b, rateBitsPerSecond, spec.delayPs(), plane);
        }
    }
}
