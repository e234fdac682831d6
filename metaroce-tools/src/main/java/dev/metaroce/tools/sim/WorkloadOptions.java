package dev.metaroce.tools.sim;

import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.workload.SizeDistribution;
import dev.metaroce.sim.workload.Sizes;
import dev.metaroce.sim.workload.TrafficMatrix;
import dev.metaroce.sim.workload.Workload;
import dev.metaroce.sim.workload.WorkloadSpec;
import dev.metaroce.sim.workload.Workloads;
import dev.metaroce.tools.cli.Numbers.Decimal;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.util.Rng;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.nio.file.Path;

/** What the hosts send to each other. */
final class WorkloadOptions {
    @Option(
            names = "--workload",
            paramLabel = "KIND",
            converter = Quantity.WorkloadKind.class,
            description =
                    "permutation, incast, outcast, all-to-all, poisson, storage (each host reads"
                            + " from others again and again), or sweep-target (permutation).")
    WorkloadSpec.@Nullable Kind kind;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "Bytes of each message, up to 2G; k, M, G: KiB, MiB, GiB (1M).")
    @Nullable Long size;

    @Option(
            names = "--sizes",
            paramLabel = "LAW",
            converter = Quantity.SizeLaw.class,
            description = "In place of --size: uniform:1k-1M or pareto:1k-10M:1.2 (with shape).")
    @Nullable SizeDistribution sizes;

    @Option(
            names = "--sizes-file",
            paramLabel = "FILE",
            description = "In place of --size: a distribution, as lines of: bytes share.")
    @Nullable Path sizesFile;

    @Option(
            names = {"--senders", "--fan"},
            paramLabel = "N",
            converter = Fan.class,
            description =
                    "Senders of an incast or sweep-target, receivers of an outcast (all other"
                            + " hosts); servers of one storage read (8).")
    @Nullable Integer fan;

    @Option(
            names = "--count",
            paramLabel = "N",
            converter = Count.class,
            description = "Messages of poisson (10 per host), reads of each storage client (10).")
    @Nullable Integer count;

    @Option(
            names = "--load",
            paramLabel = "SHARE",
            converter = Load.class,
            description = "Load of poisson, 0.001..1 of what the hosts can send (0.5).")
    @Nullable Double load;

    @Option(
            names = "--traffic-matrix",
            paramLabel = "FILE",
            description = "In place of a workload: connections as htsim reads them.")
    @Nullable Path matrix;

    void check() {
        int said = (size == null ? 0 : 1) + (sizes == null ? 0 : 1) + (sizesFile == null ? 0 : 1);
        if (said > 1) {
            throw ToolException.usage(
                    "--size, --sizes and --sizes-file exclude each other: give one of them");
        }
        boolean hasSpec = kind != null || said > 0 || fan != null || count != null || load != null;
        if (matrix != null && hasSpec) {
            throw ToolException.usage(
                    "--traffic-matrix says all of the workload: give it or --workload, --size,"
                            + " --senders, --count, --load");
        }
    }

    /** The same seed makes the same flows. */
    Workload build(Topology topology, long seed) {
        if (matrix != null) {
            String text = InputFile.read("--traffic-matrix", matrix);
            return TrafficMatrix.parse(matrix.toString(), text, topology.hosts());
        }
        return build(topology, kind == null ? WorkloadSpec.Kind.PERMUTATION : kind, fan, seed);
    }

    /** So many senders and one target. */
    Workload incast(Topology topology, int senders, long seed) {
        return build(topology, WorkloadSpec.Kind.INCAST, senders, seed);
    }

    private Workload build(
            Topology topology, WorkloadSpec.Kind made, @Nullable Integer itsFan, long seed) {
        WorkloadSpec.Builder builder = WorkloadSpec.builder(made);
        if (size != null) {
            builder.bytes(size);
        }
        if (sizes != null) {
            builder.sizes(sizes);
        }
        if (sizesFile != null) {
            String text = InputFile.read("--sizes-file", sizesFile);
            builder.sizes(Sizes.parseCdf(sizesFile.toString(), text));
        }
        if (itsFan != null) {
            builder.fan(itsFan);
        }
        if (count != null) {
            builder.count(count);
        }
        if (load != null) {
            builder.load(load);
        }
        return Workloads.build(builder.build(topology.hosts()), topology, new Rng(seed));
    }

    static final class Fan extends Whole {
        Fan() {
            super(1, 1_000_000);
        }
    }

    static final class Count extends Whole {
        Count() {
            super(1, 20_000_000);
        }
    }

    static final class Load extends Decimal {
        Load() {
            super("what hosts can send", "0.001", "1");
        }
    }
}
