package dev.metaroce.tools.sim;

import dev.metaroce.sim.fabric.FabricReport;
import dev.metaroce.sim.fabric.LossReason;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.IdealTime;
import dev.metaroce.sim.run.Series;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.CsvFile;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** One simulation from its start to its end, with the files it fills. */
final class SimRun implements AutoCloseable {
    private static final double PS_PER_US = 1e6;

    private final OutputOptions output;
    private final @Nullable CsvFile flowFile;
    private final @Nullable CsvFile portFile;
    private final @Nullable CsvFile seriesFile;

    /** Opens the files. */
    SimRun(OutputOptions output) {
        this.output = output;
        flowFile =
                output.flows == null
                        ? null
                        : CsvFile.open(
                                "--flows",
                                output.flows,
                                "flow,source,destination,bytes,start_us,end_us,completion_us,"
                                        + "ideal_us,slowdown,goodput_gbps,state,missing_bytes,"
                                        + "failure");
        portFile =
                output.ports == null
                        ? null
                        : CsvFile.open(
                                "--ports",
                                output.ports,
                                "port,from,to,rate_gbps,packets,bytes,utilisation,queue_bytes_max,"
                                        + "marked,pauses,paused_us,"
                                        + Arrays.stream(LossReason.values())
                                                .map(Choice::label)
                                                .collect(Collectors.joining(",")));
        seriesFile =
                output.series == null
                        ? null
                        : CsvFile.open("--series", output.series, "time_us,what,of,value");
    }

    SimResult run(
            Simulation simulation, RunOptions options, BooleanSupplier mayGoOn, long setUpNs) {
        SimResult result = SimResult.run(simulation, options, series(simulation), mayGoOn, setUpNs);
        writeFlows(simulation);
        writePorts(simulation);
        return result;
    }

    private @Nullable Series series(Simulation simulation) {
        CsvFile file = seriesFile;
        if (file == null) {
            return null;
        }
        return new Series(
                simulation,
                output.intervalPs(),
                output.seriesPorts,
                output.seriesFlows,
                (atPs, what, of, value) -> file.line(atPs / PS_PER_US, what, of, value));
    }

    private void writeFlows(Simulation simulation) {
        if (flowFile == null) {
            return;
        }
        Flows flows = simulation.flows();
        IdealTime ideal = new IdealTime(simulation);
        for (int flow = 0; flow < flows.count(); flow++) {
            boolean open = flows.isOpen(flow);
            long ps = open ? 0 : flows.endPs(flow) - flows.startPs(flow);
            double idealPs =
                    ideal.ps(flows.source(flow), flows.destination(flow), flows.bytes(flow));
            String failure = flows.failure(flow);
            flowFile.line(
                    simulation.flowId(flow),
                    simulation.topology().name(flows.source(flow)),
                    simulation.topology().name(flows.destination(flow)),
                    flows.bytes(flow),
                    flows.startPs(flow) / PS_PER_US,
                    open ? Double.NaN : flows.endPs(flow) / PS_PER_US,
                    open ? Double.NaN : ps / PS_PER_US,
                    idealPs / PS_PER_US,
                    open ? Double.NaN : ps / idealPs,
                    open ? Double.NaN : Summary.gbps(flows.bytes(flow), ps),
                    open ? "open" : failure.isEmpty() ? "ended" : "failed",
                    simulation.missingBytes(flow),
                    failure);
        }
    }

    private void writePorts(Simulation simulation) {
        if (portFile == null) {
            return;
        }
        for (FabricReport.PortRow row : simulation.fabric().report(simulation.nowPs()).ports()) {
            List<Object> values = new ArrayList<>();
            values.add(row.port());
            values.add(row.from());
            values.add(row.to());
            values.add(simulation.fabric().port(row.port()).rateBitsPerSecond() / 1e9);
            values.add(row.txPackets());
            values.add(row.txBytes());
            values.add(row.utilisation());
            values.add(row.queueBytesMax());
            values.add(row.marks());
            values.add(row.pauses());
            values.add(row.pausedPs() / PS_PER_US);
            for (LossReason reason : LossReason.values()) {
                values.add(row.losses().getOrDefault(reason, 0L));
            }
            portFile.line(values.toArray());
        }
    }

    @Override
    public void close() {
        for (CsvFile file : new CsvFile[] {flowFile, portFile, seriesFile}) {
            if (file != null) {
                file.close();
            }
        }
    }
}
