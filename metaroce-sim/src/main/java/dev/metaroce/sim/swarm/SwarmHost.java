package dev.metaroce.sim.swarm;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.transport.CidPool;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.RdmaDevice;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** One process at one host: its device, the sides of talks that it takes part in, and oracles. */
final class SwarmHost implements EventSink {
    static final long SERVICE = 7;

    final int number;
    private final Journal journal;
    private final CidModel cids;

    /** Those with completion queues to look at. */
    final List<TalkSide> sides = new ArrayList<>();

    private @Nullable Simulation simulation;
    private boolean dead;

    SwarmHost(int number, DeviceLimits limits, Journal journal) {
        this.number = number;
        this.journal = journal;
        cids = new CidModel(limits.contexts(), limits.packetLifetimeNs());
    }

    /** The engine is there. */
    void started(Simulation in) {
        simulation = in;
    }

    private Simulation simulation() {
        return Objects.requireNonNull(simulation);
    }

    RdmaDevice device() {
        return simulation().device(number);
    }

    void die() {
        dead = true;
        sides.clear();
    }

    boolean isDead() {
        return dead;
    }

    @Override
    public void onEvent(long nowNs, EventId id, long a, long b, long c) {
        journal.note(nowNs, number, id, a, b, c);
        cids.onEvent(nowNs, id, (int) b, (int) c);
    }

    void check() {
        cids.check(simulation().engine(number).metaRoce().pool());
    }

    long count(CounterId id) {
        return simulation().engine(number).counters().get(id);
    }

    /** Contexts that peers hold here. */
    int contextsInUse() {
        return simulation().engine(number).metaRoce().pool().inUse();
    }

    @Override
    public String toString() {
        CidPool pool = simulation().engine(number).metaRoce().pool();
        return "h%d: %d in use, %d quarantined, %d free, %d wait, next deadline %d ns%s"
                .formatted(
                        number,
                        pool.inUse(),
                        pool.quarantined(),
                        pool.free(),
                        pool.waiting(),
                        simulation().engine(number).nextDeadlineNs(),
                        dead ? ", dead" : "");
    }
}
