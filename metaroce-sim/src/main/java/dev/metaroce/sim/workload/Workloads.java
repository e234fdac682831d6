package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Invariant;
import dev.metaroce.util.Rng;

/** Makes the workloads that the field uses. The same seed makes the same flows. */
public final class Workloads {
    /** A read is asked for with so many bytes, as a storage command has. */
    private static final int REQUEST_BYTES = 64;

    private static final double PS_PER_SECOND = 1e12;

    private final WorkloadSpec spec;
    private final int hosts;
    private final FlowList.Builder builder;
    private final Rng pairs;
    private final Rng sizes;
    private final Rng arrivals;

    private Workloads(WorkloadSpec spec, Rng rng) {
        this.spec = spec;
        hosts = spec.hosts();
        builder = FlowList.builder(spec.kind().toString(), hosts);
        pairs = rng.fork("pairs");
        sizes = rng.fork("sizes");
        arrivals = rng.fork("arrivals");
    }

    /**
     * @param rng of the simulation; a part of it is forked
     * @throws ConfigException when Poisson arrivals would take more than 100 days
     */
    public static FlowList build(WorkloadSpec spec, Topology topology, Rng rng) {
        Invariant.check(spec.hosts() == topology.hosts(), "hosts", spec.hosts(), topology.hosts());
        Workloads made = new Workloads(spec, rng.fork("workload"));
        switch (spec.kind()) {
            case PERMUTATION -> made.addPermutation();
            case INCAST, SWEEP_TARGET -> made.addIncast();
            case OUTCAST -> made.addOutcast();
            case ALL_TO_ALL -> made.addAllToAll();
            case POISSON -> made.addPoisson(sendingBitsPerSecond(topology));
            case STORAGE -> made.addStorage();
        }
        return made.builder.build();
    }

    private void add(int source, int destination) {
        builder.add(source, destination, 0, spec.sizes().draw(sizes));
    }

    /** Shuffles until no host is its own: about e times, and no such permutation is preferred. */
    private void addPermutation() {
        int[] targets = new int[hosts];
        do {
            for (int i = 0; i < hosts; i++) {
                int other = pairs.nextInt(i + 1);
                targets[i] = targets[other];
                targets[other] = i;
            }
        } while (hasFixedPoint(targets));
        for (int host = 0; host < hosts; host++) {
            add(host, targets[host]);
        }
    }

    private static boolean hasFixedPoint(int[] targets) {
        for (int i = 0; i < targets.length; i++) {
            if (targets[i] == i) {
                return true;
            }
        }
        return false;
    }

    private void addIncast() {
        for (int i = 0; i < spec.fan(); i++) {
            add(1 + i % (hosts - 1), 0);
        }
    }

    private void addOutcast() {
        for (int i = 1; i <= spec.fan(); i++) {
            add(0, i);
        }
    }

    private void addAllToAll() {
        for (int host = 0; host < hosts; host++) {
            for (int distance = 1; distance < hosts; distance++) {
                add(host, (host + distance) % hosts);
            }
        }
    }

    private static double sendingBitsPerSecond(Topology topology) {
        double sum = 0;
        for (int link = 0; link < topology.links(); link++) {
            if (topology.isHost(topology.linkA(link))) {
                sum += topology.rateAbBitsPerSecond(link);
            }
            if (topology.isHost(topology.linkB(link))) {
                sum += topology.rateBaBitsPerSecond(link);
            }
        }
        return sum;
    }

    private void addPoisson(double sendingBitsPerSecond) {
        double messagesPerSecond =
                spec.load() * sendingBitsPerSecond / (8 * spec.sizes().meanBytes());
        double meanGapPs = PS_PER_SECOND / messagesPerSecond;
        double atPs = 0;
        for (int i = 0; i < spec.count(); i++) {
            atPs -= StrictMath.log(1 - arrivals.nextDouble()) * meanGapPs;
            if (atPs > FlowList.START_MAX_PS) {
                throw new ConfigException(
                        "count %d: at load %s they take more than 100 days to arrive"
                                .formatted(spec.count(), spec.load()));
            }
            int source = pairs.nextInt(hosts);
            builder.add(source, otherThan(source), (long) atPs, spec.sizes().draw(sizes));
        }
    }

    private int otherThan(int host) {
        return (host + 1 + pairs.nextInt(hosts - 1)) % hosts;
    }

    /** A client's next read begins when all answers to the one before are there. */
    private void addStorage() {
        int[] servers = new int[hosts];
        for (int i = 0; i < hosts; i++) {
            servers[i] = i;
        }
        for (int client = 0; client < hosts; client++) {
            int allAnswered = -1;
            for (int read = 0; read < spec.count(); read++) {
                int previous = allAnswered;
                allAnswered = builder.addBarrier(spec.fan());
                chooseServers(servers, client);
                for (int i = 0; i < spec.fan(); i++) {
                    addRead(client, servers[i], previous, allAnswered);
                }
            }
        }
    }

    private void addRead(int client, int server, int after, int answered) {
        int request =
                after < 0
                        ? builder.add(client, server, 0, REQUEST_BYTES)
                        : builder.addTriggered(client, server, after, REQUEST_BYTES);
        int asked = builder.addBarrier(1);
        builder.setsOff(request, asked);
        int answer = builder.addTriggered(server, client, asked, spec.sizes().draw(sizes));
        builder.setsOff(answer, answered);
    }

    /** Puts as many distinct servers as answer a read, none of them the client, to the front. */
    private void chooseServers(int[] servers, int client) {
        for (int i = 0; i < spec.fan(); i++) {
            do {
                swap(servers, i, i + pairs.nextInt(hosts - i));
            } while (servers[i] == client);
        }
    }

    private static void swap(int[] values, int i, int j) {
        int kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}
