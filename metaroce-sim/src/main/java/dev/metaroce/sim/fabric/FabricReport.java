package dev.metaroce.sim.fabric;

import dev.metaroce.sim.topology.Topology;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What happened at all ports up to a time.
 *
 * @param warnings what should not be, one line each
 */
public record FabricReport(long nowPs, List<PortRow> ports, List<String> warnings) {
    private static final double BIT_PS_PER_SECOND = 8e12;

    /**
     * A port.
     *
     * @param utilisation part of the time for which it sent, 0 to 1
     * @param losses packets by reason, reasons without any left out
     * @param pausedPs for how long its classes were stopped, in all; ended stops only
     */
    public record PortRow(
            int port,
            String from,
            String to,
            long txPackets,
            long txBytes,
            double utilisation,
            Map<LossReason, Long> losses,
            long marks,
            long pauses,
            long pausedPs,
            long queueBytesMax) {}

    static FabricReport of(Fabric fabric, Topology topology, long nowPs) {
        List<PortRow> rows = new ArrayList<>(fabric.ports());
        for (int id = 0; id < fabric.ports(); id++) {
            rows.add(row(fabric, topology, nowPs, fabric.port(id)));
        }
        return new FabricReport(nowPs, List.copyOf(rows), warnings(fabric, topology));
    }

    static List<String> warnings(Fabric fabric, Topology topology) {
        List<String> warnings = new ArrayList<>();
        for (int id = 0; id < fabric.ports(); id++) {
            long flagged = fabric.port(id).losses(LossReason.LOSSLESS);
            if (flagged > 0) {
                warnings.add(
                        "lossless class dropped: %d packets at %s->%s"
                                .formatted(
                                        flagged,
                                        topology.name(fabric.sender(id)),
                                        topology.name(fabric.port(id).toNode)));
            }
        }
        for (String circle : fabric.deadlocks()) {
            warnings.add("deadlock: " + circle);
        }
        if (fabric.watchdogs() > 0) {
            warnings.add(
                    "the watchdog emptied stopped ports %d times".formatted(fabric.watchdogs()));
        }
        return List.copyOf(warnings);
    }

    private static PortRow row(Fabric fabric, Topology topology, long nowPs, Port port) {
        Map<LossReason, Long> losses = new EnumMap<>(LossReason.class);
        for (LossReason reason : LossReason.values()) {
            if (port.losses(reason) > 0) {
                losses.put(reason, port.losses(reason));
            }
        }
        double couldBytes = nowPs * (port.rateBitsPerSecond / BIT_PS_PER_SECOND);
        return new PortRow(
                port.id,
                topology.name(fabric.sender(port.id)),
                topology.name(port.toNode),
                port.txPackets(),
                port.txBytes(),
                nowPs == 0 ? 0 : Math.min(1, port.txBytes() / couldBytes),
                losses,
                port.marks(),
                port.pauses(),
                port.pausedPs(),
                port.queueBytesMax());
    }
}
