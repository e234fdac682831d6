package dev.metaroce.sim.workload;

/**
 * The flows of a simulation. Some start by themselves, others when flows before them are done; so
 * the runner tells of each flow that is done:
 *
 * <pre>{@code
 * workload.start(sink);
 * // ... and whenever the last byte of a flow is acknowledged:
 * workload.onFlowDone(flow, nowPs, sink);
 * }</pre>
 *
 * <p>Owned by the simulation's thread. Flows are numbered from 0 to {@link #flows} - 1. Nothing is
 * allocated in {@link #onFlowDone}.
 */
public interface Workload {
    /** What it is called in reports, for example {@code incast}. */
    String kind();

    /** How many flows there will have been at the end. */
    int flows();

    /** The number that reports show for a flow; the flow itself unless its source said another. */
    default long id(int flow) {
        return flow;
    }

    /** Begins, also again, with all flows that wait for no other. */
    void start(FlowSink sink);

    /** A flow is done, and with it what waited for it alone may start. */
    void onFlowDone(int flow, long nowPs, FlowSink sink);
}
