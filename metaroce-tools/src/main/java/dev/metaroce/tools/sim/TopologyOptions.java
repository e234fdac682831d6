package dev.metaroce.tools.sim;

import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologyFile;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.tools.cli.Numbers.Decimal;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.nio.file.Path;

/** Which hosts, switches and links there are. */
final class TopologyOptions {
    @Option(
            names = "--topology",
            paramLabel = "KIND",
            converter = Quantity.TopologyKind.class,
            description =
                    "pair, star, dumbbell, ring, leaf-spine or fat-tree: three tiers of switches"
                            + " with full bisection (fat-tree).")
    TopologySpec.@Nullable Kind kind;

    @Option(
            names = "--hosts",
            paramLabel = "N",
            converter = Hosts.class,
            description = "Endpoints, 2..200000 (fat-tree 128, leaf-spine 64, pair 2, else 8).")
    @Nullable Integer hosts;

    @Option(
            names = "--rate",
            paramLabel = "RATE",
            converter = Quantity.Rate.class,
            description = "Rate of each port of a host, 1..1.6T bit/s: 100G, 400Gbps (100G).")
    @Nullable Long rateBitsPerSecond;

    @Option(
            names = "--link-rate",
            paramLabel = "RATE",
            converter = Quantity.Rate.class,
            description = "Rate of links between switches (that of the hosts).")
    @Nullable Long linkRateBitsPerSecond;

    @Option(
            names = "--oversubscription",
            paramLabel = "R",
            converter = Ratio.class,
            description =
                    "In place of --link-rate: hosts of a switch can send R times what its links to"
                            + " other switches carry, 0.01..1000 (leaf-spine, fat-tree,"
                            + " dumbbell).")
    @Nullable Double oversubscription;

    @Option(
            names = "--link-delay",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "Propagation on each link, 0..1000s: 500ns, 1us (1us).")
    @Nullable Long delayPs;

    @Option(
            names = "--leaves",
            paramLabel = "N",
            converter = Count.class,
            description = "Leaf switches of a leaf-spine (as many as make it square).")
    @Nullable Integer leaves;

    @Option(
            names = "--spines",
            paramLabel = "N",
            converter = Count.class,
            description = "Spine switches of a leaf-spine (as many as a leaf has hosts).")
    @Nullable Integer spines;

    @Option(
            names = "--switches",
            paramLabel = "N",
            converter = Count.class,
            description = "Switches of a ring (one per host, but 3..8).")
    @Nullable Integer switches;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            converter = Count.class,
            description = "Links between two linked switches, or the hosts of a pair (1).")
    @Nullable Integer parallel;

    @Option(
            names = "--planes",
            paramLabel = "N",
            converter = Count.class,
            description = "Copies of all switches; each host has a port in each (1).")
    @Nullable Integer planes;

    @Option(
            names = "--topology-file",
            paramLabel = "FILE",
            description = "Hosts, switches and links from a TOML file (docs/simulator.md).")
    @Nullable Path file;

    /** Refuses what would be ignored. */
    void check(RunOptions run) {
        boolean hasSpec =
                kind != null
                        || hosts != null
                        || rateBitsPerSecond != null
                        || linkRateBitsPerSecond != null
                        || oversubscription != null
                        || delayPs != null
                        || leaves != null
                        || spines != null
                        || switches != null
                        || parallel != null
                        || planes != null;
        if (file != null && hasSpec) {
            throw ToolException.usage(
                    "--topology-file says all of the topology: give it or --topology, --hosts,"
                            + " --rate and the like");
        }
        if (run.sweep != null && (file != null || hosts != null)) {
            throw ToolException.usage(
                    "--sweep says how many hosts: leave --%s out"
                            .formatted(file == null ? "hosts" : "topology-file"));
        }
        if (oversubscription != null && linkRateBitsPerSecond != null) {
            throw ToolException.usage(
                    "--oversubscription and --link-rate exclude each other: give one");
        }
    }

    /** The topology for so many hosts; null: as the options say. */
    Topology build(@Nullable Integer hostsInstead) {
        if (file != null) {
            return TopologyFile.parse(file.toString(), InputFile.read("--topology-file", file));
        }
        TopologySpec spec = builder(hostsInstead).build();
        if (oversubscription == null) {
            return Topologies.build(spec);
        }
        double rate = fullRate(spec) / oversubscription;
        return Topologies.build(builder(hostsInstead).linkRate(Math.max(1, (long) rate)).build());
    }

    private TopologySpec.Builder builder(@Nullable Integer hostsInstead) {
        TopologySpec.Builder builder =
                TopologySpec.builder(kind == null ? TopologySpec.Kind.FAT_TREE : kind);
        if (rateBitsPerSecond != null) {
            builder.hostRate(rateBitsPerSecond);
        }
        if (delayPs != null) {
            builder.delayPs(delayPs);
        }
        Integer count = hostsInstead == null ? hosts : hostsInstead;
        if (count != null) {
            builder.hosts(count);
        }
        if (linkRateBitsPerSecond != null) {
            builder.linkRate(linkRateBitsPerSecond);
        }
        if (leaves != null) {
            builder.leaves(leaves);
        }
        if (spines != null) {
            builder.spines(spines);
        }
        if (switches != null) {
            builder.switches(switches);
        }
        if (parallel != null) {
            builder.parallel(parallel);
        }
        if (planes != null) {
            builder.planes(planes);
        }
        return builder;
    }

    /** The rate of a link between switches that lets all hosts of a switch send at full rate. */
    private static double fullRate(TopologySpec spec) {
        double rate = spec.hostRateBitsPerSecond();
        return switch (spec.kind()) {
            case FAT_TREE -> rate / spec.parallel();
            case DUMBBELL -> rate * Math.ceilDiv(spec.hosts(), 2) / spec.parallel();
            case LEAF_SPINE ->
                    rate
                            * Math.ceilDiv(spec.hosts(), spec.leaves())
                            / (spec.spines() * spec.parallel());
            default ->
                    throw ToolException.usage(
                            "--oversubscription: a "
                                    + spec.kind()
                                    + " has none; leaf-spine, fat-tree and dumbbell have");
        };
    }

    static final class Hosts extends Whole {
        Hosts() {
            super(2, TopologySpec.HOSTS_MAX);
        }
    }

    static final class Count extends Whole {
        Count() {
            super(1, 10_000);
        }
    }

    static final class Ratio extends Decimal {
        Ratio() {
            super("host rate to link rate", "0.01", "1000");
        }
    }
}
