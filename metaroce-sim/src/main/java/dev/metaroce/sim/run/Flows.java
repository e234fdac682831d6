package dev.metaroce.sim.run;

import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;

/** All flows of a simulation: who sends how much to whom, and how that went. */
public final class Flows {
    private int[] sources = new int[64];
    private int[] destinations = new int[64];
    private long[] bytes = new long[64];
    private long[] startPs = new long[64];
    private long[] endPs = new long[64];
    private int[] numbers = new int[64];
    private final BitSet reads = new BitSet();
    private final Map<Integer, String> failures = new LinkedHashMap<>();
    private int count;
    private int ended;
    private int expected;

    private static final long OPEN = Long.MIN_VALUE;

    int add(int source, int destination, long flowBytes, long atPs, int number) {
        if (count == sources.length) {
            int size = count * 2;
            sources = Arrays.copyOf(sources, size);
            destinations = Arrays.copyOf(destinations, size);
            bytes = Arrays.copyOf(bytes, size);
            startPs = Arrays.copyOf(startPs, size);
            endPs = Arrays.copyOf(endPs, size);
            numbers = Arrays.copyOf(numbers, size);
        }
        sources[count] = source;
        destinations[count] = destination;
        bytes[count] = flowBytes;
        startPs[count] = atPs;
        endPs[count] = OPEN;
        numbers[count] = number;
        expected = Math.max(expected, count + 1);
        return count++;
    }

    /** The bytes of a flow come from its destination: its source READs them. */
    void reads(int flow) {
        reads.set(flow);
    }

    /** True when a flow is a READ, from its source's view; else it is a WRITE. */
    public boolean isRead(int flow) {
        return reads.get(flow);
    }

    /** So many more will come. */
    void expect(int more) {
        expected = count + more;
    }

    void end(int flow, long atPs, String failure) {
        endPs[flow] = atPs;
        ended++;
        if (!failure.isEmpty()) {
            failures.put(flow, failure);
        }
    }

    /** Flows so far. */
    public int count() {
        return count;
    }

    /** Flows there will have been, if all come that wait for others. */
    public int expected() {
        return expected;
    }

    /** The number of a flow in its workload. */
    int number(int flow) {
        return numbers[flow];
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
