package dev.metaroce.sim.run;

import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;

/**
 * How long a flow would take alone on the network: all of its packets at the rate of the narrowest
 * place on its way, the first of them stored and forwarded at each hop, and the acknowledgement
 * back. Getting a context is not in it.
 */
public final class IdealTime {
    private static final double PS_PER_SECOND = 1e12;

    private final Topology topology;
    private final Routes routes;
    private final int dataBytes;
    private final int firstBytes;
    private final int ackBytes;
    private final int mtu;

    public IdealTime(Simulation simulation) {
        topology = simulation.topology();
        routes = simulation.routes();
        int wireBytes = simulation.config().fabric().overheadBytes();
        dataBytes = simulation.protocol().dataOverheadBytes() + wireBytes;
        firstBytes = simulation.protocol().firstOverheadBytes();
        ackBytes = simulation.protocol().ackBytes() + wireBytes;
        mtu = simulation.config().limits().payloadMtu();
    }

    /** In picoseconds; NaN when no way leads there. */
    public double ps(int source, int destination, long bytes) {
        long packets = Math.max(1, Math.ceilDiv(bytes, mtu));
        double oneBytes = Math.min(bytes, mtu) + dataBytes + firstBytes;
        double allBytes = bytes + packets * (double) dataBytes + firstBytes;
        double there = onePacketPs(source, destination, oneBytes);
        double back = onePacketPs(destination, source, ackBytes);
        double rate = narrowestBitsPerSecond(source, destination);
        return there + (allBytes - oneBytes) * 8 * PS_PER_SECOND / rate + back;
    }

    private int[] ways(int node, int destination) {
        if (!topology.isHost(node)) {
            return routes.nextPorts(node, destination, topology.planeOfSwitch(node));
        }
        for (int plane = 0; plane < topology.planes(); plane++) {
            int[] ways = routes.nextPorts(node, destination, plane);
            if (ways.length > 0) {
                return ways;
            }
        }
        return new int[0];
    }

    private double onePacketPs(int source, int destination, double wireBytes) {
        double ps = 0;
        for (int node = source; node != destination; ) {
            int[] ways = ways(node, destination);
            if (ways.length == 0) {
                return Double.NaN;
            }
            double rate = rate(ways[0]);
            ps += wireBytes * 8 * PS_PER_SECOND / rate + topology.delayPs(ways[0] >> 1);
            node = routes.target(ways[0]);
        }
        return ps;
    }

    /**
     * What all ways together can carry at the narrowest place, taking it that they branch alike
     * everywhere and come together only at the end.
     */
    private double narrowestBitsPerSecond(int source, int destination) {
        double narrowest = Double.MAX_VALUE;
        double branches = topology.planes();
        for (int node = source; node != destination; ) {
            int[] ways = ways(node, destination);
            double rate = 0;
            for (int way : ways) {
                rate += rate(way);
            }
            int next = routes.target(ways[0]);
            if (next != destination) {
                narrowest = Math.min(narrowest, branches * rate);
            }
            branches *= ways.length;
            node = next;
        }
        double last = 0;
        for (int port : routes.ports(destination)) {
            last += rate(port ^ 1);
        }
        return Math.min(narrowest, last);
    }

    private double rate(int port) {
        int link = port >> 1;
        return (port & 1) == 0
                ? topology.rateAbBitsPerSecond(link)
                : topology.rateBaBitsPerSecond(link);
    }
}
