package dev.metaroce.sim.run;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** All flows of a simulation: who sends how much to whom, and how that went. */
public final class Flows {
    private int[] sources = new int[64];
    private int[] destinations = new int[64];
    private long[] bytes = new long[64];
    private long[] startPs = new long[64];
    private long[] endPs = new long[64];
    private final Map<Integer, String> failures = new LinkedHashMap<>();
    private int count;
    private int ended;

    private static final long OPEN = Long.MIN_VALUE;

    int add(int source, int destination, long flowBytes, long atPs) {
        if (count == sources.length) {
            int size = count * 2;
            sources = Arrays.copyOf(sources, size);
            destinations = Arrays.copyOf(destinations, size);
            bytes = Arrays.copyOf(bytes, size);
            startPs = Arrays.copyOf(startPs, size);
            endPs = Arrays.copyOf(endPs, size);
        }
        sources[count] = source;
        destinations[count] = destination;
        bytes[count] = flowBytes;
        startPs[count] = atPs;
        endPs[count] = OPEN;
        return count++;
    }

    void end(int flow, long atPs, String failure) {
        endPs[flow] = atPs;
        ended++;
        if (!failure.isEmpty()) {
            failures.put(flow, failure);
        }
    }

    public int count() {
        return count;
    }

    public int ended() {
        return ended;
    }

    /** Flows that ended with an error. */
    public int failed() {
        return failures.size();
    }

    public int source(int flow) {
        return sources[flow];
    }

    public int destination(int flow) {
        return destinations[flow];
    }

    public long bytes(int flow) {
        return bytes[flow];
    }

    public long startPs(int flow) {
        return startPs[flow];
    }

    public boolean isOpen(int flow) {
        return endPs[flow] == OPEN;
    }

    /** When the sender's completion came. */
    public long endPs(int flow) {
        return endPs[flow];
    }

    /** Why a flow failed; empty when it did not. */
    public String failure(int flow) {
        return failures.getOrDefault(flow, "");
    }
}
