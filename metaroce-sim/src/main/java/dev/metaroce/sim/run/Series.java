package dev.metaroce.sim.run;

import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.transport.SendingState;

import java.util.Arrays;

/** Samples of a simulation at equal intervals: queues, flows, contexts. */
public final class Series {
    /** Takes one value. */
    @FunctionalInterface
    public interface Sink {
        /**
         * @param what a name that ends in its unit
         * @param of what it belongs to: a port, a flow, or {@code all}
         */
        void add(long atPs, String what, String of, double value);
    }

    private static final String ALL = "all";

    private final Simulation simulation;
    private final long intervalPs;
    private final Sink sink;

    /** The ports with the longest queues at a sample, the longest first; -1 for none. */
    private final int[] longest;

    private final long[] missing;
    private long nextPs;

    /**
     * @param ports how many of the longest queues are told
     * @param flows how many flows are told, from flow 0 on
     */
    public Series(Simulation simulation, long intervalPs, int ports, int flows, Sink sink) {
        this.simulation = simulation;
        this.intervalPs = intervalPs;
        this.sink = sink;
        longest = new int[ports];
        missing = new long[flows];
        Arrays.fill(missing, -1);
        nextPs = intervalPs;
    }

    /** When the next sample is due. */
    long nextPs() {
        return nextPs;
    }

    void sample() {
        nextPs = simulation.nowPs() + intervalPs;
        sampleAll();
        samplePorts();
        int count = Math.min(missing.length, simulation.flows().count());
        for (int flow = 0; flow < count; flow++) {
            sampleFlow(flow);
        }
    }

    private void add(String what, String of, long value) {
        sink.add(simulation.nowPs(), what, of, (double) value);
    }

    private void addGbps(String what, String of, double value) {
        sink.add(simulation.nowPs(), what, of, value);
    }

    private void sampleAll() {
        long contexts = 0;
        int most = 0;
        for (int host = 0; host < simulation.topology().hosts(); host++) {
            int inUse = simulation.engine(host).contextsInUse();
            contexts += inUse;
            most = Math.max(most, inUse);
        }
        Flows flows = simulation.flows();
        add("open_flows", ALL, flows.count() - flows.ended());
        add("packets_on_the_way", ALL, simulation.fabric().packets().inFlight());
        add("contexts_in_use", ALL, contexts);
        add("contexts_in_use_of_one_host", ALL, most);
    }

    private void samplePorts() {
        Fabric fabric = simulation.fabric();
        Arrays.fill(longest, -1);
        for (int port = 0; port < fabric.ports(); port++) {
            int candidate = port;
            for (int i = 0; i < longest.length && queue(candidate) > 0; i++) {
                int other = longest[i];
                if (queue(candidate) > queue(other)) {
                    longest[i] = candidate;
                    candidate = other;
                }
            }
        }
        for (int port : longest) {
            if (port >= 0) {
                add("queue_bytes", portName(simulation, port), queue(port));
            }
        }
    }

    private long queue(int port) {
        return port < 0 ? 0 : simulation.fabric().port(port).queueBytes();
    }

    /** Where a port sends from and to. */
    public static String portName(Simulation simulation, int port) {
        Topology topology = simulation.topology();
        int from = simulation.routes().owner(port);
        int to = simulation.routes().target(port);
        return topology.name(from) + "->" + topology.name(to);
    }

    private void sampleFlow(int flow) {
        if (simulation.flows().startPs(flow) > simulation.nowPs() || missing[flow] == 0) {
            return;
        }
        long before = missing[flow] < 0 ? simulation.flows().bytes(flow) : missing[flow];
        long now = simulation.missingBytes(flow);
        missing[flow] = now;
        String name = "flow " + flow;
        addGbps("rate_gbps", name, Summary.gbps(before - now, intervalPs));
        SendingState sending = now == 0 ? null : simulation.sending(flow);
        if (sending != null) {
            add("window_bytes", name, sending.windowBytes());
            add("in_flight_bytes", name, sending.inFlightBytes());
            if (sending.rateBitsPerSecond() != Long.MAX_VALUE) {
                addGbps("hint_gbps", name, sending.rateBitsPerSecond() / 1e9);
            }
        }
    }
}
