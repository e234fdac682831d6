package dev.metaroce.sim.run;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.LossReason;
import dev.metaroce.sim.fabric.Port;

/**
 * How a simulation went, in numbers.
 *
 * @param flows of the workload, those that wait for others included
 * @param ended of them, failed ones included
 * @param failed of them
 * @param lastEndUs when the last flow ended well
 * @param completionUs from the start of a flow to its sender's completion
 * @param slowdown that time in terms of {@link IdealTime}
 * @param goodputGbps payload of all flows that ended well, from the first start to the last end
 * @param jainIndex fairness of the rates of these flows: 1 when all are equal
 * @param packets what became of packets
 * @param contexts receive contexts
 * @param simulatedUs time that was simulated
 * @param traceHash of all events, their times and order
 */
public record Summary(
        int flows,
        int ended,
        int failed,
        double lastEndUs,
        Distribution completionUs,
        Distribution slowdown,
        double goodputGbps,
        double jainIndex,
        PacketCounts packets,
        Contexts contexts,
        double simulatedUs,
        long events,
        String traceHash) {
    private static final double PS_PER_US = 1e6;

    /**
     * @param peak most that one host had in use
     * @param tableBytes of one host, for any number of senders
     * @param granted how often one was granted
     * @param queued how often a request was put into the waiting line
     * @param denied how often a request was denied
     */
    public record Contexts(int peak, long tableBytes, long granted, long queued, long denied) {
        static Contexts of(Simulation simulation) {
            int peak = 0;
            for (int host = 0; host < simulation.topology().hosts(); host++) {
                peak = Math.max(peak, simulation.contextsPeak(host));
            }
            return new Contexts(
                    peak,
                    simulation.engine(0).contextTableBytes(),
                    sum(simulation, CounterId.GRANTS),
                    sum(simulation, CounterId.QUEUED),
                    sum(simulation, CounterId.DENIED));
        }
    }

    /**
     * @param sent datagrams that endpoints sent
     * @param received datagrams that endpoints received
     * @param data DATA packets sent for the first time
     * @param resent DATA packets sent again
     * @param marked packets that a switch marked
     * @param trimmed packets that went on without their payload
     * @param dropped packets that found no room in a switch
     * @param lost packets that a wire lost
     * @param cutOff packets lost for a link that was down, or a way that there was not
     * @param corrupted packets refused for their checksum
     * @param pauses how often flow control stopped a port
     */
    public record PacketCounts(
            long sent,
            long received,
            long data,
            long resent,
            long marked,
            long trimmed,
            long dropped,
            long lost,
            long cutOff,
            long corrupted,
            long pauses) {
        static PacketCounts of(Simulation simulation) {
            long marked = 0;
            long trimmed = 0;
            long dropped = 0;
            long lost = 0;
            long cutOff = 0;
            long pauses = 0;
            for (int i = 0; i < simulation.fabric().ports(); i++) {
                Port port = simulation.fabric().port(i);
                marked += port.marks();
                trimmed += port.losses(LossReason.TRIMMED);
                dropped += port.drops();
                lost += port.losses(LossReason.WIRE);
                cutOff += port.losses(LossReason.LINK_DOWN) + port.losses(LossReason.NO_ROUTE);
                pauses += port.pauses();
            }
            return new PacketCounts(
                    sum(simulation, CounterId.TX_PACKETS),
                    sum(simulation, CounterId.RX_PACKETS),
                    sum(simulation, CounterId.DATA_SENT),
                    sum(simulation, CounterId.DATA_RESENT),
                    marked,
                    trimmed,
                    dropped,
                    lost,
                    cutOff,
                    sum(simulation, CounterId.BAD_CRC) + sum(simulation, CounterId.ICRC_ERRORS),
                    pauses);
        }
    }

    /** Of all flows, at the end of a simulation or where it stands. */
    public static Summary of(Simulation simulation) {
        Flows flows = simulation.flows();
        IdealTime ideal = new IdealTime(simulation);
        int ended = flows.ended() - flows.failed();
        double[] completions = new double[ended];
        double[] slowdowns = new double[ended];
        JainIndex rates = new JainIndex();
        long allBytes = 0;
        long firstPs = Long.MAX_VALUE;
        long lastPs = 0;
        int at = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            firstPs = Math.min(firstPs, flows.startPs(flow));
            if (flows.isOpen(flow) || !flows.failure(flow).isEmpty()) {
                continue;
            }
            lastPs = Math.max(lastPs, flows.endPs(flow));
            long ps = flows.endPs(flow) - flows.startPs(flow);
            long bytes = flows.bytes(flow);
            completions[at] = ps / PS_PER_US;
            slowdowns[at] = ps / ideal.ps(flows.source(flow), flows.destination(flow), bytes);
            rates.add(gbps(bytes, ps));
            allBytes += bytes;
            at++;
        }
        return new Summary(
                flows.expected(),
                flows.ended(),
                flows.failed(),
                ended == 0 ? Double.NaN : lastPs / PS_PER_US,
                Distribution.of(completions),
                Distribution.of(slowdowns),
                gbps(allBytes, lastPs - firstPs),
                rates.value(),
                PacketCounts.of(simulation),
                Contexts.of(simulation),
                simulation.nowPs() / PS_PER_US,
                simulation.eventCount(),
                "%016x".formatted(simulation.traceHash()));
    }

    /** Rate of a flow of so many bytes in Gb/s; 0 when it took no time. */
    public static double gbps(long bytes, long ps) {
        return ps <= 0 ? 0 : bytes * 8e3 / ps;
    }

    /** A counter of all endpoints. */
    public static long sum(Simulation simulation, CounterId counter) {
        long sum = 0;
        for (int host = 0; host < simulation.topology().hosts(); host++) {
            sum += simulation.engine(host).counters().get(counter);
        }
        return sum;
    }
}
