package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;
import dev.metaroce.util.Invariant;

import java.util.Arrays;

/**
 * A workload whose flows are all known before the start. A flow starts at its time, or when its
 * <i>trigger</i> fires. A barrier fires when so many of the flows that set it off are done, for all
 * flows that wait; a multishot fires whenever one of them is done, for the next that waits.
 */
public final class FlowList implements Workload {
    public static final int FLOWS_MAX = 20_000_000;

    /** 100 days. */
    public static final long START_MAX_PS = 8_640_000_000_000_000_000L;

    private static final int NO_TRIGGER = -1;
    private static final int MULTISHOT = 0;

    private final String kind;
    private final int[] sources;
    private final int[] destinations;
    private final long[] startsPs;
    private final long[] bytes;
    private final long[] ids;
    private final int[] waitsFor;

    /** By trigger: flows that must be done before it fires, or {@link #MULTISHOT}. */
    private final int[] needed;

    /** By flow: the triggers that it sets off. */
    private final IntLists triggersOf;

    /** By trigger: the flows that wait for it. */
    private final IntLists waiting;

    /** By trigger: how many of the flows that set it off are done. */
    private final int[] done;

    private FlowList(Builder from) {
        int flows = from.flows;
        kind = from.kind;
        sources = Arrays.copyOf(from.sources, flows);
        destinations = Arrays.copyOf(from.destinations, flows);
        startsPs = Arrays.copyOf(from.startsPs, flows);
        bytes = Arrays.copyOf(from.bytes, flows);
        ids = from.ids.length == 0 ? from.ids : Arrays.copyOf(from.ids, flows);
        waitsFor = Arrays.copyOf(from.waitsFor, flows);
        needed = Arrays.copyOf(from.needed, from.triggers);
        done = new int[from.triggers];
        triggersOf = new IntLists(flows, from.setters, from.set, from.settings);
        int[] all = new int[flows];
        Arrays.setAll(all, flow -> flow);
        waiting = new IntLists(from.triggers, waitsFor, all, flows);
    }

    /**
     * @param hosts how many there are; sources and destinations are below
     */
    public static Builder builder(String kind, int hosts) {
        return new Builder(kind, hosts);
    }

    @Override
    public String kind() {
        return kind;
    }

    @Override
    public int flows() {
        return sources.length;
    }

    @Override
    public long id(int flow) {
        return ids.length == 0 ? flow : ids[flow];
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

    /** True when the flow starts only after others. */
    public boolean isTriggered(int flow) {
        return waitsFor[flow] != NO_TRIGGER;
    }

    /** When the flow starts; 0 when it is triggered. */
    public long startPs(int flow) {
        return startsPs[flow];
    }

    @Override
    public void start(FlowSink sink) {
        Arrays.fill(done, 0);
        for (int flow = 0; flow < sources.length; flow++) {
            if (!isTriggered(flow)) {
                start(flow, startsPs[flow], sink);
            }
        }
    }

    @Override
    public void onFlowDone(int flow, long nowPs, FlowSink sink) {
        int triggers = triggersOf.size(flow);
        for (int i = 0; i < triggers; i++) {
            setOff(triggersOf.item(flow, i), nowPs, sink);
        }
    }

    private void setOff(int trigger, long nowPs, FlowSink sink) {
        int before = done[trigger]++;
        int waiters = waiting.size(trigger);
        if (needed[trigger] == MULTISHOT) {
            if (before < waiters) {
                start(waiting.item(trigger, before), nowPs, sink);
            }
        } else if (before + 1 == needed[trigger]) {
            for (int i = 0; i < waiters; i++) {
                start(waiting.item(trigger, i), nowPs, sink);
            }
        }
    }

    private void start(int flow, long atPs, FlowSink sink) {
        sink.start(flow, sources[flow], destinations[flow], atPs, bytes[flow]);
    }

    /** The first flow that does not start although all that can start are done; or -1. */
    int firstStuck() {
        if (needed.length == 0) {
            return -1;
        }
        int[] open = new int[sources.length];
        boolean[] hasStarted = new boolean[sources.length];
        int[] count = {0};
        FlowSink sink =
                (flow, source, destination, atPs, length) -> {
                    hasStarted[flow] = true;
                    open[count[0]++] = flow;
                };
        start(sink);
        for (int i = 0; i < count[0]; i++) {
            onFlowDone(open[i], 0, sink);
        }
        for (int flow = 0; flow < hasStarted.length; flow++) {
            if (!hasStarted[flow]) {
                return flow;
            }
        }
        return -1;
    }

    /** Collects flows and triggers; numbers are given in order from 0. */
    public static final class Builder {
        private static final int INITIAL = 64;

        private final String kind;
        private final int hosts;
        private int[] sources = new int[INITIAL];
        private int[] destinations = new int[INITIAL];
        private long[] startsPs = new long[INITIAL];
        private long[] bytes = new long[INITIAL];
        private int[] waitsFor = new int[INITIAL];
        private long[] ids = {};
        private int flows;
        private int[] needed = new int[INITIAL];
        private int triggers;
        private int[] setters = new int[INITIAL];
        private int[] set = new int[INITIAL];
        private int settings;

        private Builder(String kind, int hosts) {
            this.kind = kind;
            this.hosts = hosts;
        }

        /** Adds a flow that starts at a time, 0..100 days, and gives its number. */
        public int add(int source, int destination, long startPs, long length) {
            Invariant.check(
                    startPs >= 0 && startPs <= START_MAX_PS, "a start is in range", startPs, 0);
            return append(source, destination, startPs, length, NO_TRIGGER);
        }

        /** Adds a flow that starts when a trigger fires, and gives its number. */
        public int addTriggered(int source, int destination, int trigger, long length) {
            Invariant.check(trigger >= 0 && trigger < triggers, "the trigger exists", trigger, 0);
            return append(source, destination, 0, length, trigger);
        }

        private int append(int source, int destination, long startPs, long length, int trigger) {
            Invariant.check(isHost(source) && isHost(destination), "hosts", source, destination);
            Invariant.check(source != destination, "two hosts", source, destination);
            Invariant.check(length >= 0 && length <= Quantities.BYTES_MAX, "length", length, 0);
            if (flows == FLOWS_MAX) {
                throw new ConfigException(
                        "workload %s: has more than %d flows".formatted(kind, FLOWS_MAX));
            }
            if (flows == sources.length) {
                int capacity = flows * 2;
                sources = Arrays.copyOf(sources, capacity);
                destinations = Arrays.copyOf(destinations, capacity);
                startsPs = Arrays.copyOf(startsPs, capacity);
                bytes = Arrays.copyOf(bytes, capacity);
                waitsFor = Arrays.copyOf(waitsFor, capacity);
            }
            sources[flows] = source;
            destinations[flows] = destination;
            startsPs[flows] = startPs;
            bytes[flows] = length;
            waitsFor[flows] = trigger;
            return flows++;
        }

        private boolean isHost(int node) {
            return node >= 0 && node < hosts;
        }

        /** Gives a flow the number that reports show; then all flows should have one. */
        public Builder id(int flow, long id) {
            if (flow >= ids.length) {
                ids = Arrays.copyOf(ids, sources.length);
            }
            ids[flow] = id;
            return this;
        }

        /** Adds a trigger that fires once, when so many flows (at least 1) have set it off. */
        public int addBarrier(int count) {
            Invariant.check(count >= 1, "a barrier waits for flows", count, 1);
            return appendTrigger(count);
        }

        /** Adds a trigger that starts one more of its flows whenever it is set off. */
        public int addMultishot() {
            return appendTrigger(MULTISHOT);
        }

        private int appendTrigger(int count) {
            if (triggers == needed.length) {
                needed = Arrays.copyOf(needed, 2 * triggers);
            }
            needed[triggers] = count;
            return triggers++;
        }

        /** A flow sets off a trigger when it is done. */
        public Builder setsOff(int flow, int trigger) {
            Invariant.check(flow < flows && trigger < triggers, "both exist", flow, trigger);
            if (settings == set.length) {
                setters = Arrays.copyOf(setters, 2 * settings);
                set = Arrays.copyOf(set, 2 * settings);
            }
            setters[settings] = flow;
            set[settings++] = trigger;
            return this;
        }

        /**
         * @throws ConfigException when a flow would wait for ever
         */
        public FlowList build() {
            FlowList list = buildUnchecked();
            int stuck = list.firstStuck();
            if (stuck >= 0) {
                throw new ConfigException(
                        "workload %s: flow %d would never start: too few set off its trigger"
                                .formatted(kind, list.id(stuck)));
            }
            return list;
        }

        FlowList buildUnchecked() {
            return new FlowList(this);
        }
    }
}
