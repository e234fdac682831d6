package dev.metaroce.testing;

import dev.metaroce.transport.CidPool;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.util.ArrayList;
import java.util.List;

/**
 * One swarm run: many initiators and one hub under random work and random faults (safety), then a
 * healed network in which everything has to complete (liveness). Oracles throw.
 */
public final class Swarm {
    private static final long SERVICE = 7;
    private static final long MS = 1_000_000;
    private static final long FAULTY_NS = 3_000 * MS;
    private static final long HEALED_NS = 60_000 * MS;

    private final SwarmPlan plan;
    private final Rng rng;
    public final Lab lab;
    private final Lab.Node hub;
    private final List<Link> links = new ArrayList<>();
    private long killAtNs;

    /** One connection with its flows. */
    private final class Link {
        final Connection dialed;
        final Lab.Node node;
        final ProtectionDomain here;
        final ProtectionDomain there;
        final List<QueuePair> dialers = new ArrayList<>();
        final List<CompletionQueue> queues = new ArrayList<>();
        final List<SwarmFlow> out = new ArrayList<>();
        final List<SwarmFlow> back = new ArrayList<>();
        Connection accepted;
        boolean closing;
        boolean killed;

        Link(Lab.Node node, int number) {
            this.node = node;
            here = node.device.allocProtectionDomain();
            there = hub.device.allocProtectionDomain();
            byte[] who = {(byte) number};
            dialed = node.device.connect(hub.address, SERVICE, who);
            for (int i = 0; i < plan.streams; i++) {
                dialers.add(pair(node, dialed, here));
            }
        }

        private QueuePair pair(Lab.Node at, Connection connection, ProtectionDomain domain) {
            CompletionQueue sends = at.device.createCompletionQueue(plan.depth);
            CompletionQueue receives = at.device.createCompletionQueue(plan.depth);
            queues.add(sends);
            queues.add(receives);
            return connection.createQueuePair(domain, sends, receives, plan.depth, plan.depth);
        }

        void accept(Connection connection, int number) {
            if (killed) {
                // A late request of the dead process.
                return;
            }
            if (!out.isEmpty()) {
                throw new AssertionError("connection " + number + " was accepted twice");
            }
            accepted = connection;
            for (int i = 0; i < plan.streams; i++) {
                QueuePair server = pair(hub, connection, there);
                QueuePair client = dialers.get(i);
                String name = "link " + number + " stream " + i;
                out.add(
                        new SwarmFlow(
                                name + " out", rng.fork(name), plan, here, there, client, server));
                back.add(
                        new SwarmFlow(
                                name + " back",
                                rng.fork(name + " back"),
                                plan,
                                there,
                                here,
                                server,
                                client));
                if (!plan.lateReceives) {
                    out.get(i).postReceives(plan.depth);
                    if (plan.bothWays) {
                        back.get(i).postReceives(plan.depth);
                    }
                }
            }
        }

        /** Polls every queue; the queues of stream i are 2i.. at the dialler, then at the hub. */
        void poll() {
            for (int i = 0; i < out.size(); i++) {
                SwarmFlow forth = out.get(i);
                SwarmFlow reverse = back.get(i);
                int there0 = 2 * (plan.streams + i);
                SwarmFlow.drain(queues.get(2 * i), forth::onSend);
                SwarmFlow.drain(queues.get(2 * i + 1), reverse::onReceive);
                SwarmFlow.drain(queues.get(there0), reverse::onSend);
                SwarmFlow.drain(queues.get(there0 + 1), forth::onReceive);
            }
        }

        void act(Rng chance) {
            poll();
            for (int i = 0; i < out.size(); i++) {
                if (!closing && chance.chance(0.5)) {
                    out.get(i).post(1 + chance.nextInt(plan.depth));
                }
                out.get(i).postReceives(1 + chance.nextInt(plan.depth));
                if (plan.bothWays && chance.chance(0.5)) {
                    back.get(i).post(1 + chance.nextInt(plan.depth));
                }
            }
            boolean posted = !out.isEmpty() && out.stream().allMatch(SwarmFlow::isAllPosted);
            boolean reverse = !plan.bothWays || back.stream().allMatch(SwarmFlow::isDone);
            // Closing finishes what was posted here; the other side's work must be over before.
            if (plan.closes && posted && reverse && !closing && chance.chance(0.3)) {
                closing = true;
                dialed.close();
            }
        }

        /**
         * The process dies; perhaps another one takes its address. What it did is nobody's
         * business.
         */
        void kill(Rng chance) {
            killed = true;
            if (chance.chance(0.5)) {
                node.kill();
            } else {
                lab.replace(node, plan.initiator);
            }
        }

        boolean isDone() {
            if (killed) {
                return true;
            }
            boolean done = !out.isEmpty() && out.stream().allMatch(SwarmFlow::isDone);
            done &= !plan.bothWays || back.stream().allMatch(SwarmFlow::isDone);
            return done && (!closing || dialed.state() == ConnectionState.CLOSED);
        }

        void check() {
            if (!killed && dialed.state() == ConnectionState.FAILED) {
                throw new AssertionError("failed: " + dialed.failure());
            }
        }
    }

    public Swarm(SwarmPlan plan) {
        this.plan = plan;
        lab = new Lab(plan.seed);
        rng = lab.rng("swarm");
        lab.latencyNs(plan.latencyNs);
        lab.coalesceNs(plan.coalesceNs);
        lab.batch(plan.batchBytes, plan.batchRuns);
        if (plan.rateBitsPerSecond > 0) {
            lab.link(plan.rateBitsPerSecond, 100_000, 2 * MS);
        }
        hub = lab.add(plan.hub);
        hub.device.listen(
                SERVICE,
                (connection, data) -> {
                    links.get(data[0]).accept(connection, data[0]);
                    return new byte[0];
                });
        for (int i = 0; i < plan.initiators; i++) {
            links.add(new Link(lab.add(plan.initiator), i));
        }
        if (plan.selfConnect) {
            links.add(new Link(hub, plan.initiators));
        }
        killAtNs = lab.nowNs() + (long) (rng.nextDouble() * 100 * MS);
        addFaults();
    }

    private void addFaults() {
        Rng chance = lab.rng("faults");
        long start = lab.nowNs();
        lab.addFault(
                packet -> {
                    long age = lab.nowNs() - start;
                    if (plan.outageNs > 0 && age % (900 * MS) < plan.outageNs && age > 50 * MS) {
                        return 0;
                    }
                    boolean black = packet.route == plan.blackRoute && age > 10 * MS;
                    if (black || chance.chance(plan.loss)) {
                        return 0;
                    }
                    packet.delayNs += packet.route * plan.skewNs;
                    if (chance.chance(plan.reordered)) {
                        packet.delayNs += 1 + (long) (chance.nextDouble() * plan.reorderNs);
                    }
                    if (chance.chance(plan.corrupted)) {
                        packet.bytes[chance.nextInt(packet.bytes.length)] ^=
                                (byte) (1 << chance.nextInt(8));
                    }
                    return chance.chance(plan.duplicates) ? 2 + chance.nextInt(3) : 1;
                });
    }

    /** Runs to the end; throws when an oracle objects. */
    public void run() {
        try {
            drive(FAULTY_NS);
            lab.heal();
            if (!drive(HEALED_NS)) {
                throw new AssertionError("not everything completed after the network was healed");
            }
            for (Link link : links) {
                if (link.killed) {
                    continue;
                }
                link.out.forEach(SwarmFlow::checkMemory);
                if (plan.bothWays) {
                    link.back.forEach(SwarmFlow::checkMemory);
                }
            }
            expectContextsBack();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(e.getMessage() + "\n" + plan + state() + lab.dump(), e);
        }
    }

    private String state() {
        StringBuilder text = new StringBuilder("\nat " + lab.nowNs() + " ns");
        CidPool pool = hub.engine.protocol().pool();
        text.append("\nhub holds ").append(pool.inUse()).append(" waiting ").append(pool.waiting());
        for (Link link : links) {
            if (!link.isDone()) {
                text.append("\n  ").append(link.dialed.failure());
                text.append(link.accepted == null ? "" : " " + link.accepted.failure());
                text.append("\n  ").append(link.dialed.state()).append(' ').append(link.out);
                text.append(plan.bothWays ? " " + link.back : "");
            }
        }
        return text.toString();
    }

    private boolean drive(long forNs) {
        long end = lab.nowNs() + forNs;
        Rng chance = lab.rng("application");
        while (lab.nowNs() - end < 0) {
            lab.advance(1 + (long) (chance.nextDouble() * (2 * plan.latencyNs + 20_000)));
            checkPool(hub);
            Link link = links.get(chance.nextInt(links.size()));
            if (!link.killed) {
                link.act(chance);
                link.check();
            }
            killSome(chance);
            if (links.stream().allMatch(Link::isDone)) {
                return true;
            }
        }
        return false;
    }

    private void killSome(Rng chance) {
        if (plan.killed == 0 || lab.nowNs() < killAtNs) {
            return;
        }
        killAtNs = Long.MAX_VALUE;
        for (Link link : links) {
            if (link.node != hub && chance.chance(plan.killed)) {
                link.kill(chance);
            }
        }
    }

    private static void checkPool(Lab.Node node) {
        CidPool pool = node.engine.protocol().pool();
        if (pool.inUse() + pool.quarantined() + pool.free() != pool.capacity()) {
            throw new AssertionError("a context is lost");
        }
    }

    private void expectContextsBack() {
        lab.expect("contexts given back", () -> isIdle(), 10_000 * MS);
        for (Link link : links) {
            if (!link.killed) {
                link.poll();
                link.check();
            }
        }
    }

    private boolean isIdle() {
        boolean idle = hub.engine.protocol().pool().inUse() == 0;
        for (Link link : links) {
            idle &= link.killed || link.node.engine.protocol().pool().inUse() == 0;
        }
        return idle;
    }
}
