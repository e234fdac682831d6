package dev.metaroce.sim.swarm;

import dev.metaroce.util.Rng;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Two hosts that connect, work and part, round by round. Memory stays from round to round, unless
 * something was left in doubt.
 */
final class SwarmTalk {
    private static final double IDLE_FACTOR = 1.5;
    private static final long LONGEST_THOUGHT_PS = 20_000_000_000L;

    /** A process that talks, with what it registered for this talk. */
    private record Party(SwarmHost host, ProtectionDomain domain) {}

    private final SwarmRun run;
    private final SwarmPlan plan;
    private final int number;
    final int dialer;
    final int acceptor;
    private final Rng rng;

    private int round = -1;
    private @Nullable Party here;
    private @Nullable Party there;
    private List<StreamMemory> forth = List.of();
    private List<StreamMemory> reverse = List.of();
    private @Nullable TalkSide dialled;
    private @Nullable TalkSide accepted;
    private List<SwarmStream> out = List.of();
    private List<SwarmStream> back = List.of();
    private boolean closing;
    private boolean farCloses;
    private boolean excused;
    private boolean over = true;
    private long messages;
    private long bytes;
    private boolean ticking;
    private double thoughtPs;

    SwarmTalk(SwarmRun run, SwarmPlan plan, int number, SwarmPlan.Talk talk, Rng rng) {
        this.run = run;
        this.plan = plan;
        this.number = number;
        dialer = talk.dialer();
        acceptor = talk.acceptor();
        this.rng = rng;
    }

    // Rounds

    private void start() {
        round++;
        boolean clean = out.stream().allMatch(SwarmStream::isClean);
        clean &= back.stream().allMatch(SwarmStream::isClean);
        account();
        closing = false;
        excused = false;
        over = false;
        accepted = null;
        Party mine = party(dialer, here);
        Party theirs = party(acceptor, there);
        if (!clean || !mine.equals(here) || !theirs.equals(there)) {
            here = mine;
            there = theirs;
            forth = memories("out", mine, theirs);
            reverse = memories("back", theirs, mine);
        }
        byte[] who = {(byte) number, (byte) round};
        Connection connection =
                mine.host.device().connect(run.address(acceptor), SwarmHost.SERVICE, who);
        TalkSide side = new TalkSide(mine.host.device(), mine.domain, connection, plan);
        out = streams("out", forth, side);
        back = List.of();
        side.outgoing = out;
        dialled = side;
        mine.host.sides.add(side);
        if (run.isCutOff(dialer) || run.isCutOff(acceptor)) {
            excuse();
        }
    }

    /** What is left to be seen once nothing happens any more. */
    void checkAtEnd() {
        out.forEach(SwarmStream::checkCount);
        back.forEach(SwarmStream::checkCount);
    }

    private void account() {
        checkAtEnd();
        bytes = bytes();
        messages = messages();
        if (here != null && dialled != null) {
            here.host.sides.remove(dialled);
        }
        if (there != null && accepted != null) {
            there.host.sides.remove(accepted);
        }
        out = List.of();
        back = List.of();
    }

    /** Of messages that completed well, in all rounds so far. */
    long bytes() {
        return bytes + sum(out, SwarmStream::bytes) + sum(back, SwarmStream::bytes);
    }

    /** Messages that completed well, in all rounds so far. */
    long messages() {
        return messages + sum(out, SwarmStream::succeeded) + sum(back, SwarmStream::succeeded);
    }

    private static long sum(List<SwarmStream> streams, ToLongFunction<SwarmStream> what) {
        return streams.stream().mapToLong(what).sum();
    }

    /** The process that now runs at a host: the one known if it is still alive. */
    private Party party(int host, @Nullable Party known) {
        SwarmHost now = run.host(host);
        return known != null && known.host == now
                ? known
                : new Party(now, now.device().allocProtectionDomain());
    }

    private List<StreamMemory> memories(String way, Party from, Party to) {
        List<StreamMemory> memories = new ArrayList<>();
        Rng seeds = rng.fork(way + round);
        boolean used = way.equals("out") || plan.bothWays;
        for (int i = 0; i < plan.streams && used; i++) {
            String name = "talk %d %s %d".formatted(number, way, i);
            memories.add(run.memory(name, seeds.nextLong(), from.domain, to.host, to.domain));
        }
        return memories;
    }

    private List<SwarmStream> streams(String way, List<StreamMemory> memories, TalkSide from) {
        List<SwarmStream> streams = new ArrayList<>();
        for (int i = 0; i < memories.size(); i++) {
            String name =
                    "talk %d (h%d to h%d) round %d %s %d"
                            .formatted(number, dialer, acceptor, round, way, i);
            streams.add(
                    new SwarmStream(
                            name,
                            rng.fork(name),
                            plan,
                            memories.get(i),
                            round * plan.messages,
                            from.pairs.get(i)));
        }
        return streams;
    }

    /** The acceptor got a request of this talk; false refuses it. */
    boolean accept(SwarmHost at, Connection connection, int ofRound) {
        Party theirs = there;
        TalkSide peer = dialled;
        if (theirs == null
                || peer == null
                || theirs.host != at
                || ofRound != round
                || over
                || (peer.isEnded() && (excused || closing))) {
            // A late request: of an earlier round, or between processes of which one has died.
            return false;
        }
        if (accepted != null) {
            throw new Objection("talk " + number + " round " + round + " was accepted twice");
        }
        TalkSide side = new TalkSide(at.device(), theirs.domain, connection, plan);
        back = streams("back", reverse, side);
        side.outgoing = back;
        side.incoming = out;
        peer.incoming = back;
        accepted = side;
        at.sides.add(side);
        for (int i = 0; i < out.size(); i++) {
            out.get(i).accepted(side.pairs.get(i));
        }
        for (int i = 0; i < back.size(); i++) {
            back.get(i).accepted(peer.pairs.get(i));
        }
        if (excused || closing) {
            back.forEach(SwarmStream::excuse);
            back.forEach(SwarmStream::stop);
        }
        if (!plan.lateReceives) {
            out.forEach(stream -> stream.postReceives(plan.depth));
            back.forEach(stream -> stream.postReceives(plan.depth));
        }
        return true;
    }

    // Trouble

    boolean touches(int host) {
        return dialer == host || acceptor == host;
    }

    /** From now on this round may fail. */
    void excuse() {
        excused = true;
        out.forEach(SwarmStream::excuse);
        back.forEach(SwarmStream::excuse);
    }

    /** A process died: nothing more is posted, and what was posted must end somehow. */
    void died() {
        excuse();
        stop();
    }

    private void stop() {
        out.forEach(SwarmStream::stop);
        back.forEach(SwarmStream::stop);
    }

    // Life

    /** Lets it go on, or begin. */
    void wake(long delayPs) {
        if (!ticking) {
            ticking = true;
            thoughtPs = plan.thinkPs;
            run.after(delayPs, this::tick);
        }
    }

    private void tick() {
        int did = 0;
        if (!over) {
            did = act();
        }
        if (over) {
            boolean more = round + 1 < plan.rounds;
            if (!more || run.host(dialer).isDead() || run.host(acceptor).isDead()) {
                ticking = false;
                return;
            }
            start();
            did++;
        }
        run.turn(dialer);
        run.turn(acceptor);
        thoughtPs =
                did > 0
                        ? plan.thinkPs
                        : Math.min(LONGEST_THOUGHT_PS, Math.max(1_000, thoughtPs * IDLE_FACTOR));
        run.after((long) (2 * rng.nextDouble() * thoughtPs), this::tick);
    }

    private int act() {
        TalkSide near = dialled;
        TalkSide far = accepted;
        if (near == null) {
            return 0;
        }
        int did = 0;
        if (isAlive(here) && rng.chance(0.7)) {
            did += near.post(1 + rng.nextInt(plan.depth));
        }
        if (far != null && isAlive(there) && rng.chance(0.7)) {
            did += far.post(1 + rng.nextInt(plan.depth));
        }
        checkState(near, here);
        checkState(far, there);
        endRound(near, far);
        return did;
    }

    private static boolean isAlive(@Nullable Party party) {
        return party != null && !party.host.isDead();
    }

    private void checkState(@Nullable TalkSide side, @Nullable Party party) {
        if (side == null || !isAlive(party) || !side.hasFailed()) {
            return;
        }
        // Who closes before the connection is established says so once, which may get lost.
        boolean left = closing && plan.rude;
        if (!excused && !left) {
            throw new Objection("failed: " + side.connection.failure());
        }
        stop();
    }

    private void endRound(TalkSide near, @Nullable TalkSide far) {
        if (excused) {
            endSomehow(near, far);
        } else if (closing) {
            TalkSide closer = farCloses && far != null ? far : near;
            over = closer.isEnded() && isSettled(out) && isSettled(back);
            if (over && !plan.rude && !isDone()) {
                throw new Objection("closed before its work was done: " + this);
            }
        } else if (plan.rude && rng.chance(0.1)) {
            // What it posted is finished; what the peer posted may be cut off.
            back.forEach(SwarmStream::excuse);
            stop();
            close(near);
        } else if (isDone()) {
            boolean last = round + 1 == plan.rounds;
            farCloses = far != null && rng.chance(0.2);
            over = last && !plan.closes;
            if (!over) {
                close(farCloses && far != null ? far : near);
            }
        }
    }

    /** Who is alive has no open request, and closes. */
    private void endSomehow(TalkSide near, @Nullable TalkSide far) {
        boolean nearOver = !isAlive(here) || isSettled(out);
        boolean farOver = far == null || !isAlive(there) || isSettled(back);
        boolean done = nearOver && farOver && (isStopped() || isDone());
        if (done && isAlive(here) && !near.isEnded()) {
            close(near);
        }
        over = done && (!isAlive(here) || near.isEnded());
    }

    private void close(TalkSide side) {
        closing = true;
        side.connection.close();
    }

    private boolean isStopped() {
        return out.stream().allMatch(SwarmStream::isAllPosted)
                && back.stream().allMatch(SwarmStream::isAllPosted);
    }

    private static boolean isSettled(List<SwarmStream> streams) {
        return streams.stream().allMatch(SwarmStream::isSettled);
    }

    private boolean isDone() {
        boolean bothThere = accepted != null || excused;
        return bothThere
                && out.stream().allMatch(SwarmStream::isDone)
                && back.stream().allMatch(SwarmStream::isDone);
    }

    /** Nothing is left to do for it, ever. */
    boolean isFinished() {
        boolean dead = run.host(dialer).isDead() || run.host(acceptor).isDead();
        return over && (round + 1 == plan.rounds || dead);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append("talk %d h%d to h%d round %d".formatted(number, dialer, acceptor, round));
        if (dialled != null) {
            text.append(", dialler ").append(dialled.connection.state());
        }
        if (accepted != null) {
            text.append(", acceptor ").append(accepted.connection.state());
        }
        text.append(closing ? ", closing" : "").append(excused ? ", excused" : "");
        out.forEach(stream -> text.append("\n    ").append(stream));
        back.forEach(stream -> text.append("\n    ").append(stream));
        return text.toString();
    }
}
