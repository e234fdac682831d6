package dev.metaroce.sim.swarm;

import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Where packets leave the network for a host: some are damaged, come twice, or come later than
 * others; a busy host takes several before it answers any. The canary sits here, too.
 */
final class HostEdge {
    private static final double CHANGE_CHANCE = 0.00005;
    private static final double FORGERY_CHANCE = 0.002;

    private final SwarmPlan plan;
    private final Canary canary;
    private final Rng rng;
    private boolean healed;

    /** By host: packets that came while it was busy. */
    private final List<ArrayDeque<Integer>> waiting = new ArrayList<>();

    HostEdge(SwarmPlan plan, Canary canary, Rng rng) {
        for (int i = 0; i < plan.network.topology.hosts(); i++) {
            waiting.add(new ArrayDeque<>());
        }
        this.plan = plan;
        this.canary = canary;
        this.rng = rng;
    }

    /** No more faults; the canary stays. */
    void heal() {
        healed = true;
    }

    /** False when the packet comes later. */
    boolean passes(SwarmRun run, Simulation simulation, int host, int packet) {
        Fabric fabric = simulation.fabric();
        if (canary != Canary.NONE) {
            strike(fabric.memory(packet), fabric.offset(packet), fabric.datagramBytes(packet));
        }
        if (healed) {
            return takes(run, simulation, host, packet);
        }
        if (plan.corruption > 0 && rng.chance(plan.corruption)) {
            damage(fabric.memory(packet), fabric.offset(packet), fabric.datagramBytes(packet));
        }
        if (plan.duplicates > 0 && rng.chance(plan.duplicates)) {
            simulation.arrive(laterPs(simulation), host, fabric.copy(packet));
        }
        if (plan.reordered > 0 && rng.chance(plan.reordered)) {
            simulation.arrive(laterPs(simulation), host, packet);
            return false;
        }
        return takes(run, simulation, host, packet);
    }

    /** The first packet makes the host busy for a while; then it takes all that came. */
    private boolean takes(SwarmRun run, Simulation simulation, int host, int packet) {
        if (plan.busyPs == 0) {
            return true;
        }
        ArrayDeque<Integer> line = waiting.get(host);
        if (line.isEmpty()) {
            run.after(plan.busyPs, () -> takeAll(simulation, host));
        }
        line.add(packet);
        return false;
    }

    private void takeAll(Simulation simulation, int host) {
        for (Integer packet : waiting.get(host)) {
            simulation.deliver(host, packet);
        }
        waiting.get(host).clear();
        simulation.turn(host);
    }

    /** Flips a bit anywhere, where the fabric's own corruption has its place. */
    private void damage(PacketMemory m, int at, int bytes) {
        int byteAt = at + rng.nextInt(bytes);
        m.put8(byteAt, m.u8(byteAt) ^ (1 << rng.nextInt(8)));
    }

    private long laterPs(Simulation simulation) {
        return simulation.nowPs() + (long) (rng.nextDouble() * plan.reorderPs);
    }

    private void strike(PacketMemory m, int at, int bytes) {
        int type = CommonHeader.type(m, at);
        boolean data = type == PacketType.DATA.code();
        if (data && canary == Canary.CHANGED_BYTE && rng.chance(CHANGE_CHANCE)) {
            int payload = DataHeader.payloadBytes(m, at, bytes);
            if (payload > 0) {
                int byteAt = DataHeader.payloadOffset(m, at) + rng.nextInt(payload);
                m.put8(byteAt, m.u8(byteAt) ^ 1);
                CommonHeader.seal(m, at, bytes - CommonHeader.TRAILER_BYTES);
            }
        }
        boolean ack = type == PacketType.ACK.code();
        if (ack && canary == Canary.FORGED_RECEIPT && rng.chance(FORGERY_CHANCE)) {
            int record = AckHeader.firstRecord(at);
            if (AckHeader.count(m, at) > 0) {
                m.put32(record + Integer.BYTES, AckHeader.cumPsn(m, record) + 1);
                CommonHeader.seal(m, at, bytes - CommonHeader.TRAILER_BYTES);
            }
        }
    }
}
