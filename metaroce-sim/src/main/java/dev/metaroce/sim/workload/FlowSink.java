package dev.metaroce.sim.workload;

/** Takes the flows that a {@link Workload} starts. */
@FunctionalInterface
public interface FlowSink {
    /**
     * One message is to be sent.
     *
     * @param flow its number in the workload; each comes once
     * @param source the host that sends
     * @param destination the host that receives, another one
     * @param startPs when it is posted, not before now
     * @param bytes its length, 0..1 TiB
     */
    void start(int flow, int source, int destination, long startPs, long bytes);
}
