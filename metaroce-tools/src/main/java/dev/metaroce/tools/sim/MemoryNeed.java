package dev.metaroce.tools.sim;

import com.sun.management.ThreadMXBean;

import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;

import java.lang.management.ManagementFactory;

/** What a simulation needs of the heap before it begins, measured on small ones. */
final class MemoryNeed {
    private static final int FEW_HOSTS = 2;
    private static final int MORE_HOSTS = 66;
    private static final int MORE_LINKS = 64;

    private final long endpointBytes;
    private final long linkBytes;

    private MemoryNeed(long endpointBytes, long linkBytes) {
        this.endpointBytes = endpointBytes;
        this.linkBytes = linkBytes;
    }

    static MemoryNeed measure(SimConfig config) {
        TopologySpec few = TopologySpec.builder(TopologySpec.Kind.STAR).hosts(FEW_HOSTS).build();
        TopologySpec more = TopologySpec.builder(TopologySpec.Kind.STAR).hosts(MORE_HOSTS).build();
        TopologySpec one = TopologySpec.builder(TopologySpec.Kind.PAIR).build();
        TopologySpec many =
                TopologySpec.builder(TopologySpec.Kind.PAIR).parallel(MORE_LINKS).build();
        builtBytes(config, few); // classes are loaded once
        long hosts = builtBytes(config, more) - builtBytes(config, few);
        long links = builtBytes(config, many) - builtBytes(config, one);
        return new MemoryNeed(
                Math.max(0, hosts) / (MORE_HOSTS - FEW_HOSTS),
                Math.max(0, links) / (MORE_LINKS - 1));
    }

    private static long builtBytes(SimConfig config, TopologySpec spec) {
        Topology topology = Topologies.build(spec);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        Simulation built = new Simulation(config, topology);
        long after = threads.getCurrentThreadAllocatedBytes();
        return built.topology() == topology ? after - before : 0;
    }

    /** Of an endpoint that does nothing, with a link. */
    long endpointBytes() {
        return endpointBytes;
    }

    /** Of all endpoints and links before anything is sent. */
    long bytes(Topology topology) {
        long otherLinks = Math.max(0, topology.links() - topology.hosts());
        return topology.hosts() * endpointBytes + otherLinks * linkBytes;
    }

    /** Refuses what cannot fit, before it is tried. */
    void check(Topology topology, int atATime) {
        long needed = bytes(topology) * atATime;
        long heap = Runtime.getRuntime().maxMemory();
        if (needed > heap) {
            throw ToolException.environment(
                    ("%s hosts and %s links%s need about %s before anything is sent (%s per"
                                    + " endpoint), and the heap may have %s: simulate fewer, or"
                                    + " set METAROCE_JAVA_OPTS=-Xmx... on a machine with more")
                            .formatted(
                                    Terminal.count(topology.hosts()),
                                    Terminal.count(topology.links()),
                                    atATime == 1 ? "" : ", " + atATime + " times at once,",
                                    Terminal.bytes(needed),
                                    Terminal.bytes(endpointBytes),
                                    Terminal.bytes(heap)));
        }
    }
}
