package dev.metaroce.sim.workload;

import java.util.ArrayList;
import java.util.List;

/** What a workload has started, in order. */
final class Started implements FlowSink {
    record Flow(int flow, int source, int destination, long startPs, long bytes) {}

    final List<Flow> flows = new ArrayList<>();

    @Override
    public void start(int flow, int source, int destination, long startPs, long bytes) {
        flows.add(new Flow(flow, source, destination, startPs, bytes));
    }

    /** The numbers of the flows started since the last call. */
    List<Integer> take() {
        List<Integer> numbers = flows.stream().map(Flow::flow).toList();
        flows.clear();
        return numbers;
    }
}
