package dev.metaroce.sim.swarm;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventSink;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The run of one plan: random work under faults (safety), then a healed network in which everything
 * has to end (liveness). Oracles throw {@link Objection}.
 */
final class SwarmRun implements Application {
    private static final int EVENTS_PER_CHECK = 500;
    private static final int MAX_CHECKS_AT_ONE_TIME = 1_000;
    private static final long MAX_EVENTS = 40_000_000;
    private static final long PATIENCE_PS = 400_000_000_000_000L;

    /** Memory of a stream, with the process that it is in. */
    private record Placed(String name, SwarmHost host, StreamMemory memory) {}

    private final SwarmPlan plan;
    private final Arena arena;
    private final Journal journal = new Journal();
    private final Rng rng;
    private final HostEdge edge;
    private final SwarmHost[] hosts;
    private final Simulation simulation;
    private final List<SwarmTalk> talks = new ArrayList<>();
    private final List<Placed> memories = new ArrayList<>();
    private final List<@Nullable Runnable> actions = new ArrayList<>();
    private final ArrayDeque<Integer> freeActions = new ArrayDeque<>();
    private boolean cutOff;

    SwarmRun(SwarmPlan plan, Canary canary, Arena arena) {
        this.plan = plan;
        this.arena = arena;
        rng = new Rng(plan.seed).fork("run");
        edge = new HostEdge(plan, canary, rng.fork("edge"));
        hosts = new SwarmHost[plan.network.topology.hosts()];
        SimConfig config =
                new SimConfig(
                        plan.seed,
                        SimConfig.limits(1).toBuilder().payloadMtu(plan.mtu).build(),
                        plan.network.config,
                        plan.network.nic,
                        Connections.COLD,
                        true,
                        null);
        simulation = new Simulation(config, plan.network.topology, this);
        for (int i = 0; i < hosts.length; i++) {
            boot(i);
        }
        for (int i = 0; i < plan.talks.size(); i++) {
            SwarmPlan.Talk talk = plan.talks.get(i);
            talks.add(new SwarmTalk(this, plan, i, talk, rng.fork("talk " + i)));
            talks.get(i).wake(talk.startPs());
        }
        planFaults();
    }

    // Hosts

    /** A new process, with the limits of its host. */
    private void boot(int number) {
        simulation.restart(number, plan.limits(number));
        SwarmHost host = hosts[number];
        host.started(simulation);
        host.device()
                .listen(
                        SwarmHost.SERVICE,
                        request -> {
                            byte[] data = request.privateData();
                            if (talks.get(data[0]).accept(host, request.connection(), data[1])) {
                                request.accept();
                            } else {
                                request.reject();
                            }
                        });
        simulation.turn(number);
    }

    @Override
    public EventSink events(int number) {
        SwarmHost host = new SwarmHost(number, plan.limits(number), journal);
        hosts[number] = host;
        return host;
    }

    SwarmHost host(int number) {
        return hosts[number];
    }

    NetAddress address(int number) {
        return simulation.address(number);
    }

    StreamMemory memory(
            String name,
            long seed,
            ProtectionDomain fromDomain,
            SwarmHost to,
            ProtectionDomain toDomain) {
        StreamMemory memory =
                new StreamMemory(arena, seed, plan.slots, plan.slotBytes, fromDomain, toDomain);
        memories.add(new Placed(name, to, memory));
        return memory;
    }

    // Events

    /** Does something later. */
    void after(long delayPs, Runnable action) {
        Integer free = freeActions.poll();
        int number = free == null ? actions.size() : free;
        if (free == null) {
            actions.add(action);
        } else {
            actions.set(number, action);
        }
        simulation.schedule(simulation.nowPs() + delayPs, number);
    }

    @Override
    public void onEvent(int number) {
        Runnable action = Objects.requireNonNull(actions.set(number, null));
        freeActions.add(number);
        action.run();
    }

    void turn(int host) {
        simulation.turn(host);
    }

    @Override
    public void onTurn(int number) {
        List<TalkSide> sides = hosts[number].sides;
        for (int i = 0; i < sides.size(); i++) {
            TalkSide side = sides.get(i);
            if (side.poll(journal) > 0 && plan.eager) {
                side.post(1);
            }
        }
    }

    @Override
    public boolean onArrival(int host, int packet) {
        return edge.passes(this, simulation, host, packet);
    }

    // Faults

    private void planFaults() {
        LinkFaults.Rates rates =
                new LinkFaults.Rates(
                        plan.loss,
                        plan.corruption,
                        plan.lossInBursts > 0 ? 0.002 : 0,
                        0.1,
                        plan.lossInBursts);
        Rng chance = rng.fork("faults");
        boolean any = plan.loss + plan.corruption + plan.lossInBursts > 0;
        for (int port = 0; port < simulation.fabric().ports(); port++) {
            if (chance.chance(plan.faultyPorts) && any) {
                simulation.fabric().fault(port, rates, chance);
            }
            if (port >> 1 == plan.deadEndLink) {
                simulation.fabric().fault(port, LinkFaults.Rates.ofLoss(1), chance);
            }
        }
        for (SwarmPlan.Outage flap : plan.flaps) {
            after(flap.fromPs(), () -> setDown(flap.target(), true));
            after(flap.toPs(), () -> setDown(flap.target(), false));
        }
        for (SwarmPlan.Outage kill : plan.kills) {
            after(kill.fromPs(), () -> kill(kill.target()));
            if (kill.toPs() != SwarmPlan.NEVER) {
                after(kill.toPs(), () -> revive(kill.target()));
            }
        }
        if (plan.lonelyHost >= 0) {
            after(plan.healPs / 4, this::cutOff);
        }
        after(plan.healPs, this::heal);
    }

    private void setDown(int link, boolean down) {
        simulation.fabric().setDown(simulation.nowPs(), link, down);
        journal.note(nowNs(), link, down ? "LINK_DOWN" : "LINK_UP", 0, 0, 0);
        turnIfHost(plan.network.topology.linkA(link));
        turnIfHost(plan.network.topology.linkB(link));
    }

    private void turnIfHost(int node) {
        if (plan.network.topology.isHost(node)) {
            turn(node);
        }
    }

    private void kill(int number) {
        journal.note(nowNs(), number, "KILLED", 0, 0, 0);
        simulation.kill(number);
        hosts[number].die();
        for (Placed placed : memories) {
            if (placed.host == hosts[number]) {
                placed.memory.abandon();
            }
        }
        for (SwarmTalk talk : talks) {
            if (talk.touches(number)) {
                talk.died();
            }
        }
    }

    private void revive(int number) {
        journal.note(nowNs(), number, "RESTARTED", 0, 0, 0);
        boot(number);
        for (SwarmTalk talk : talks) {
            if (talk.touches(number)) {
                talk.wake(plan.thinkPs);
            }
        }
    }

    private void cutOff() {
        cutOff = true;
        for (int link = 0; link < plan.network.topology.links(); link++) {
            int a = plan.network.topology.linkA(link);
            int b = plan.network.topology.linkB(link);
            if (a == plan.lonelyHost || b == plan.lonelyHost) {
                int cut = link;
                setDown(cut, true);
                after(plan.lonelyPs(), () -> setDown(cut, false));
            }
        }
        for (SwarmTalk talk : talks) {
            if (talk.touches(plan.lonelyHost)) {
                talk.excuse();
            }
        }
    }

    private void heal() {
        journal.note(nowNs(), 0, "HEALED", 0, 0, 0);
        edge.heal();
        for (int port = 0; port < simulation.fabric().ports(); port++) {
            simulation.fabric().fault(port, LinkFaults.Rates.ofLoss(0), rng);
        }
    }

    private long nowNs() {
        return simulation.nowPs() / 1_000;
    }

    // The run

    /** Runs to the end; throws when an oracle objects. */
    void run() {
        long endPs = plan.healPs + PATIENCE_PS;
        long lastPs = -1;
        int standing = 0;
        while (simulation.run(EVENTS_PER_CHECK)) {
            checkHosts();
            standing = simulation.nowPs() == lastPs ? standing + 1 : 0;
            lastPs = simulation.nowPs();
            if (standing > MAX_CHECKS_AT_ONE_TIME) {
                throw new Objection("time stands still: something asks to be called for ever");
            }
            if (lastPs > endPs || simulation.eventCount() > MAX_EVENTS) {
                throw new Objection("no end within reason; stuck or spinning");
            }
        }
        checkHosts();
        for (SwarmTalk talk : talks) {
            if (!talk.isFinished()) {
                throw new Objection("nothing is left to happen, but work is open: " + talk);
            }
        }
        checkAtEnd();
    }

    private void checkHosts() {
        for (SwarmHost host : hosts) {
            if (!host.isDead()) {
                host.check();
            }
        }
    }

    private void checkAtEnd() {
        for (Placed placed : memories) {
            placed.memory.check(placed.name);
        }
        talks.forEach(SwarmTalk::checkAtEnd);
        for (SwarmHost host : hosts) {
            if (!host.isDead() && host.contextsInUse() > 0) {
                throw new Objection("h%d does not get its contexts back".formatted(host.number));
            }
        }
        int lost = simulation.fabric().packets().inFlight();
        if (lost > 0) {
            throw new Objection(lost + " packets are neither here nor there");
        }
        checkCounters();
    }

    private void checkCounters() {
        boolean damaged = plan.corruption > 0 || plan.network.config.trimming();
        expectNone(CounterId.MALFORMED, damaged);
        expectNone(CounterId.BAD_VERSION, damaged);
        expectNone(CounterId.BAD_CRC, damaged);
        expectNone(CounterId.ACCESS_REFUSED, plan.poisoned > 0 || !plan.kills.isEmpty());
        boolean trouble = !plan.kills.isEmpty() || plan.lonelyHost >= 0;
        expectNone(CounterId.CONNECTIONS_FAILED, trouble || plan.rude);
        expectNone(CounterId.EXPIRED, trouble);
        if (trouble || plan.rude || plan.poisoned > 0) {
            return;
        }
        long sent = bytesCompleted();
        long placed = sum(CounterId.PAYLOAD_BYTES);
        boolean again = sum(CounterId.RESETS_RECEIVED) > 0;
        if (again ? placed < sent : placed != sent) {
            throw new Objection(sent + " bytes were sent and " + placed + " placed");
        }
    }

    private void expectNone(CounterId id, boolean explained) {
        if (!explained && sum(id) > 0) {
            throw new Objection(sum(id) + " " + id.meaning());
        }
    }

    long sum(CounterId id) {
        long sum = 0;
        for (SwarmHost host : hosts) {
            sum += host.count(id);
        }
        return sum;
    }

    long bytesCompleted() {
        return talks.stream().mapToLong(SwarmTalk::bytes).sum();
    }

    long messagesCompleted() {
        return talks.stream().mapToLong(SwarmTalk::messages).sum();
    }

    Simulation simulation() {
        return simulation;
    }

    long hash() {
        journal.mix(simulation.traceHash());
        journal.mix(simulation.eventCount());
        for (SwarmHost host : hosts) {
            journal.mix(host.count(CounterId.TX_BYTES));
            journal.mix(host.count(CounterId.PAYLOAD_BYTES));
        }
        return journal.hash();
    }

    boolean isCutOff(int host) {
        return cutOff && host == plan.lonelyHost;
    }

    /** What was going on, for the report of a failure. */
    String state() {
        StringBuilder text = new StringBuilder("at " + nowNs() + " ns; contexts:\n");
        for (SwarmHost host : hosts) {
            text.append("  ").append(host).append('\n');
        }
        text.append("not finished:\n");
        for (SwarmTalk talk : talks) {
            if (!talk.isFinished()) {
                text.append("  ").append(talk).append('\n');
            }
        }
        return text + "last events, with connection or peer, cid, epoch:\n" + journal;
    }
}
