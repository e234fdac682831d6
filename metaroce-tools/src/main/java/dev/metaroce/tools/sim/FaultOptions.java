package dev.metaroce.tools.sim;

import dev.metaroce.sim.fabric.LinkChange;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.util.Rng;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import java.util.ArrayList;
import java.util.List;

/** What goes wrong on links. */
final class FaultOptions {
    @Option(
            names = "--loss",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            description = "Packets that each link loses at random, 0..100 (0).")
    double loss;

    @Option(
            names = "--burst-loss",
            paramLabel = "PERCENT,LENGTH",
            converter = BurstOption.class,
            description =
                    "Packets that each link loses in bursts (Gilbert-Elliott), and how many in a"
                            + " row on average, 1..10000.")
    @Nullable Burst burst;

    @Option(
            names = "--corruption",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            description = "Packets in which each link flips a bit, 0..100 (0).")
    double corruption;

    @Option(
            names = "--faulty-link",
            paramLabel = "LINK",
            description =
                    "Only these links lose and corrupt; may be repeated. A LINK is NODE/NODE, such"
                            + " as h3/edge1 or leaf0/spine2 (all links).")
    List<String> faultyLinks = new ArrayList<>();

    @Option(
            names = "--link-down",
            paramLabel = "FROM[-TO]:LINK",
            converter = OutageOption.class,
            description = "A link is down from a time on, or for a while: 1ms-6ms:leaf0/spine1.")
    List<Outage> outages = new ArrayList<>();

    /** The loss of {@code --burst-loss}, as a share. */
    record Burst(double share, double length) {}

    /** One {@code --link-down}; up again at the end of time unless said. */
    record Outage(long fromPs, long toPs, String link) {}

    /** Refuses what no link can be. */
    void check() {
        if (burst != null && loss > 0) {
            throw ToolException.usage(
                    "--loss and --burst-loss exclude each other: give one of them");
        }
        boolean hasFaults = burst != null || loss > 0 || corruption > 0;
        if (!faultyLinks.isEmpty() && !hasFaults) {
            throw ToolException.usage(
                    "--faulty-link needs a fault: give --loss, --burst-loss or --corruption too");
        }
    }

    /** Prepares the links of a simulation that has not begun. */
    void apply(Simulation simulation) {
        Topology topology = simulation.topology();
        LinkFaults.Rates rates = rates();
        if (rates != null) {
            Rng rng = new Rng(simulation.config().seed()).fork("faults");
            for (int port : faultyPorts(topology)) {
                simulation.fabric().fault(port, rates, rng);
            }
        }
        List<LinkChange> changes = new ArrayList<>();
        for (Outage outage : outages) {
            for (int link : links("--link-down", topology, outage.link)) {
                changes.add(new LinkChange(outage.fromPs, link, true));
                if (outage.toPs != Long.MAX_VALUE) {
                    changes.add(new LinkChange(outage.toPs, link, false));
                }
            }
        }
        simulation.plan(changes);
    }

    private LinkFaults.@Nullable Rates rates() {
        if (burst == null) {
            boolean faulty = loss > 0 || corruption > 0;
            return faulty ? new LinkFaults.Rates(loss, corruption, 0, 1, 0) : null;
        }
        double toGood = 1 / burst.length;
        double toBad = burst.share == 1 ? 1 : burst.share * toGood / (1 - burst.share);
        return new LinkFaults.Rates(0, corruption, Math.min(1, toBad), toGood, 1);
    }

    private List<Integer> faultyPorts(Topology topology) {
        List<Integer> links = new ArrayList<>();
        for (String name : faultyLinks) {
            links.addAll(links("--faulty-link", topology, name));
        }
        for (int link = 0; faultyLinks.isEmpty() && link < topology.links(); link++) {
            links.add(link);
        }
        List<Integer> ports = new ArrayList<>();
        for (int link : links) {
            ports.add(2 * link);
            ports.add(2 * link + 1);
        }
        return ports;
    }

    /** All links between two nodes, named NODE/NODE. */
    private static List<Integer> links(String option, Topology topology, String name) {
        int slash = name.indexOf('/');
        if (slash < 1) {
            throw ToolException.usage(
                    option + ": '" + name + "' is not NODE/NODE, such as leaf0/spine1");
        }
        int a = node(option, topology, name.substring(0, slash));
        int b = node(option, topology, name.substring(slash + 1));
        List<Integer> found = new ArrayList<>();
        for (int link = 0; link < topology.links(); link++) {
            boolean there = topology.linkA(link) == a && topology.linkB(link) == b;
            if (there || (topology.linkA(link) == b && topology.linkB(link) == a)) {
                found.add(link);
            }
        }
        if (found.isEmpty()) {
            throw ToolException.usage(option + ": no link joins the nodes of '" + name + "'");
        }
        return found;
    }

    private static int node(String option, Topology topology, String name) {
        for (int node = 0; node < topology.nodes(); node++) {
            if (topology.name(node).equals(name)) {
                return node;
            }
        }
        throw ToolException.usage(
                "%s: no node is called '%s': hosts are %s to %s, switches %s to %s"
                        .formatted(
                                option,
                                name,
                                topology.name(0),
                                topology.name(topology.hosts() - 1),
                                topology.name(Math.min(topology.hosts(), topology.nodes() - 1)),
                                topology.name(topology.nodes() - 1)));
    }

    static final class BurstOption implements ITypeConverter<Burst> {
        @Override
        public Burst convert(String text) throws Exception {
            String[] parts = text.split(",", -1);
            if (parts.length != 2) {
                throw new TypeConversionException(
                        "'" + text + "' is not PERCENT,LENGTH, such as 1,5");
            }
            return new Burst(
                    new Numbers.Percent().convert(parts[0]), new Length().convert(parts[1]));
        }
    }

    private static final class Length extends Numbers.Decimal {
        Length() {
            super("packets", "1", "10000");
        }
    }

    static final class OutageOption implements ITypeConverter<Outage> {
        @Override
        public Outage convert(String text) throws Exception {
            int colon = text.indexOf(':');
            if (colon < 1) {
                throw new TypeConversionException(
                        "'" + text + "' is not FROM[-TO]:LINK, such as 1ms-6ms:leaf0/spine1");
            }
            String[] times = text.substring(0, colon).split("-", 2);
            Quantity.Delay time = new Quantity.Delay();
            long from = time.convert(times[0]);
            long to = times.length == 1 ? Long.MAX_VALUE : time.convert(times[1]);
            if (to <= from) {
                throw new TypeConversionException("'" + text + "' ends before it begins");
            }
            return new Outage(from, to, text.substring(colon + 1));
        }
    }
}
