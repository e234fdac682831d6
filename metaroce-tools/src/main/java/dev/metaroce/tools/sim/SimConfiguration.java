package dev.metaroce.tools.sim;

import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * What is simulated.
 *
 * @param hostRateBitsPerSecond of all ports of the fastest host together
 * @param flows that start by themselves or later
 * @param bytes of the flows that have started, or will by themselves
 * @param transport metaroce or rocev2
 * @param profile of MetaRoCE, as contexts and policy; null with RoCEv2
 * @param goBackN of RoCEv2, as dcqcn; null with MetaRoCE
 * @param hints receivers tell senders which rate they may take
 * @param mechanisms those that differ from what is specified
 */
record SimConfiguration(
        String topology,
        int hosts,
        int switches,
        int links,
        int planes,
        long hostRateBitsPerSecond,
        String workload,
        int flows,
        long bytes,
        String transport,
        @Nullable String profile,
        @Nullable String goBackN,
        @Nullable Boolean dcqcn,
        int paths,
        int payloadMtu,
        @Nullable Integer contexts,
        @Nullable String policy,
        boolean hints,
        List<String> mechanisms,
        String connections,
        long seed) {
    static SimConfiguration of(Simulation simulation) {
        Topology topology = simulation.topology();
        DeviceLimits limits = simulation.config().limits();
        Flows flows = simulation.flows();
        long bytes = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            bytes += flows.bytes(flow);
        }
        RoceSettings roce = simulation.config().roce();
        Profile profile = Profile.best(limits.profiles());
        return new SimConfiguration(
                topology.kind(),
                topology.hosts(),
                topology.switches(),
                topology.links(),
                topology.planes(),
                Scenario.hostRate(topology),
                simulation.workloadKind(),
                flows.expected(),
                bytes,
                roce == null ? "metaroce" : "rocev2",
                roce == null ? String.valueOf(profile) : null,
                roce == null ? null : Choice.label(roce.trigger()),
                roce == null ? null : roce.dcqcn() != null,
                roce != null || profile == Profile.S ? 1 : limits.maxPaths(),
                limits.payloadMtu(),
                roce == null ? limits.contexts() : null,
                roce == null ? Choice.label(limits.policy()) : null,
                roce == null && limits.inboundRateBitsPerSecond() > 0,
                MechanismOptions.differences(limits.mechanisms()),
                Choice.label(simulation.config().connections()),
                simulation.config().seed());
    }
}
