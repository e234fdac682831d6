package dev.metaroce.sim.swarm;

import dev.metaroce.event.EventId;
import dev.metaroce.transport.CidPool;

import java.util.Arrays;

/**
 * A second account of the context ids of one target, kept from what its engine reports: an id is
 * with at most one peer, and none of its epochs comes back while packets of its last holder can
 * still be on their way.
 */
final class CidModel {
    private static final int EPOCHS = 256;
    private static final int FREE = -1;

    private final long packetLifetimeNs;
    private final int[] heldEpoch;

    /** By id and epoch; a row appears with the first grant of its id. */
    private final long[][] freedNs;

    private int held;

    CidModel(int capacity, long packetLifetimeNs) {
        this.packetLifetimeNs = packetLifetimeNs;
        heldEpoch = new int[capacity];
        freedNs = new long[capacity][];
        Arrays.fill(heldEpoch, FREE);
    }

    void onEvent(long nowNs, EventId id, int cid, int epoch) {
        switch (id) {
            case CID_GRANTED -> granted(nowNs, cid, epoch);
            case CID_RELEASED, CID_EXPIRED -> freed(nowNs, id, cid, epoch);
            default -> {}
        }
    }

    private void granted(long nowNs, int cid, int epoch) {
        if (heldEpoch[cid] != FREE) {
            throw new Objection("context id " + cid + " was granted while another peer holds it");
        }
        if (freedNs[cid] == null) {
            freedNs[cid] = new long[EPOCHS];
            Arrays.fill(freedNs[cid], Long.MIN_VALUE / 2);
        }
        long age = nowNs - freedNs[cid][epoch];
        if (age < packetLifetimeNs) {
            throw new Objection(
                    "context id %d epoch %d came back after %d ns, packets live for %d ns"
                            .formatted(cid, epoch, age, packetLifetimeNs));
        }
        heldEpoch[cid] = epoch;
        held++;
    }

    private void freed(long nowNs, EventId id, int cid, int epoch) {
        if (heldEpoch[cid] != epoch) {
            throw new Objection(
                    id + " of context id " + cid + " epoch " + epoch + ", which nobody holds");
        }
        heldEpoch[cid] = FREE;
        freedNs[cid][epoch] = nowNs;
        held--;
    }

    /** The pool's own figures have to agree. */
    void check(CidPool pool) {
        if (pool.inUse() != held) {
            throw new Objection(held + " context ids are held, the pool says " + pool.inUse());
        }
        if (pool.inUse() + pool.quarantined() + pool.free() != pool.capacity()) {
            throw new Objection("a context id is lost: " + pool.inUse() + " in use");
        }
    }
}
