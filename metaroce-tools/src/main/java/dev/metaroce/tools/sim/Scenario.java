package dev.metaroce.tools.sim;

import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.workload.Workload;

import java.util.function.BiFunction;

/** All that is to be simulated, but for the seed. Immutable, so that threads may share it. */
final class Scenario {
    /** How everything in the topology works. */
    record Equipment(
            TransportOptions transport,
            MechanismOptions mechanisms,
            SwitchOptions switches,
            NicOptions nics,
            FaultOptions faults) {}

    private final Topology topology;
    private final Equipment equipment;
    private final BiFunction<Topology, Long, Workload> workload;

    Scenario(
            Topology topology, Equipment equipment, BiFunction<Topology, Long, Workload> workload) {
        this.topology = topology;
        this.equipment = equipment;
        this.workload = workload;
    }

    Topology topology() {
        return topology;
    }

    /** A simulation that has not begun. */
    Simulation build(long seed) {
        Simulation simulation = new Simulation(config(seed), topology);
        simulation.add(workload.apply(topology, seed));
        equipment.faults.apply(simulation);
        return simulation;
    }

    SimConfig config(long seed) {
        TransportOptions transport = equipment.transport;
        long rate = hostRate(topology);
        SimConfig config =
                new SimConfig(
                        seed,
                        transport.limits(rate, equipment.mechanisms.mechanisms()),
                        equipment.switches.config(transport.isRoce()),
                        equipment.nics.model(),
                        transport.connections());
        RoceSettings roce = transport.roce(rate);
        return roce == null ? config : config.with(roce);
    }

    /** What the fastest host can receive on all of its ports together. */
    static long hostRate(Topology topology) {
        long[] rates = new long[topology.hosts()];
        long fastest = 0;
        for (int link = 0; link < topology.links(); link++) {
            int a = topology.linkA(link);
            int b = topology.linkB(link);
            if (topology.isHost(a)) {
                rates[a] += topology.rateBaBitsPerSecond(link);
                fastest = Math.max(fastest, rates[a]);
            }
            if (topology.isHost(b)) {
                rates[b] += topology.rateAbBitsPerSecond(link);
                fastest = Math.max(fastest, rates[b]);
            }
        }
        return fastest;
    }
}
