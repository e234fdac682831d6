package dev.metaroce.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What {@link CidPool} should do, written with plain collections and without a thought for speed.
 * Besides, it remembers when each token was last released and reports a token that returns too
 * early, which does not depend on how the pool prevents it.
 */
final class NaiveCidPool {
    record Waiter(int peer, int ticket) {}

    record Rest(int cid, long endNs, long order) {}

    final int capacity;
    final int maxWaiters;
    final int maxWaitersPerPeer;
    final long lifetimeNs;
    final ExhaustionPolicy policy;
    final SlotState[] state;
    final int[] epoch;
    final ArrayDeque<Integer> free = new ArrayDeque<>();
    final List<Rest> resting = new ArrayList<>();
    final List<Waiter> waiters = new ArrayList<>();
    final List<String> broken = new ArrayList<>();

    int grants;
    int halfRuleWaits;

    private final Long[] enteredHalfNs;
    private final Long[][] releasedNs;
    private long order;

    NaiveCidPool(
            int capacity,
            int maxWaiters,
            int maxWaitersPerPeer,
            long lifetimeNs,
            ExhaustionPolicy policy,
            int firstEpoch) {
        this.capacity = capacity;
        this.maxWaiters = maxWaiters;
        this.maxWaitersPerPeer = maxWaitersPerPeer;
        this.lifetimeNs = lifetimeNs;
        this.policy = policy;
        state = new SlotState[capacity];
        epoch = new int[capacity];
        enteredHalfNs = new Long[capacity];
        releasedNs = new Long[capacity][256];
        for (int cid = 0; cid < capacity; cid++) {
            state[cid] = SlotState.FREE;
            epoch[cid] = (firstEpoch + 255) % 256;
            free.add(cid);
        }
    }

    String request(long nowNs, int peer, int ticket) {
        settle(nowNs);
        if (waiters.isEmpty() && !free.isEmpty()) {
            return grant(nowNs);
        }
        if (policy == ExhaustionPolicy.DENY) {
            return "DENY POLICY";
        }
        if (waiters.size() == maxWaiters) {
            return "DENY QUEUE_FULL";
        }
        if (waiters.stream().filter(w -> w.peer == peer).count() >= maxWaitersPerPeer) {
            return "DENY PEER_CAP";
        }
        waiters.add(new Waiter(peer, ticket));
        return "QUEUED " + waiters.size();
    }

    String pollGrant(long nowNs) {
        settle(nowNs);
        if (waiters.isEmpty() || free.isEmpty()) {
            return "NONE";
        }
        return "TICKET " + waiters.removeFirst().ticket + " " + grant(nowNs);
    }

    boolean cancel(int ticket) {
        return waiters.removeIf(w -> w.ticket == ticket);
    }

    int position(int ticket) {
        for (int i = 0; i < waiters.size(); i++) {
            if (waiters.get(i).ticket == ticket) {
                return i + 1;
            }
        }
        return 0;
    }

    private String grant(long nowNs) {
        grants++;
        int cid = free.removeFirst();
        int next = (epoch[cid] + 1) % 256;
        if (enteredHalfNs[cid] == null || next / 128 != epoch[cid] / 128) {
            enteredHalfNs[cid] = nowNs;
        }
        epoch[cid] = next;
        state[cid] = SlotState.GRANTED;
        Long last = releasedNs[cid][next];
        if (last != null && nowNs - last < lifetimeNs) {
            broken.add("token " + cid + "/" + next + " returned after " + (nowNs - last) + " ns");
        }
        return "GRANT " + cid + " " + next;
    }

    void release(long nowNs, int cid) {
        releasedNs[cid][epoch[cid]] = nowNs;
        int next = (epoch[cid] + 1) % 256;
        long ageNs = nowNs - enteredHalfNs[cid];
        if (next / 128 != epoch[cid] / 128 && ageNs < lifetimeNs) {
            halfRuleWaits++;
            rest(cid, enteredHalfNs[cid] + lifetimeNs);
        } else {
            state[cid] = SlotState.FREE;
            free.addLast(cid);
        }
    }

    void expire(long nowNs, int cid) {
        releasedNs[cid][epoch[cid]] = nowNs;
        rest(cid, nowNs + lifetimeNs);
    }

    private void rest(int cid, long endNs) {
        state[cid] = SlotState.QUARANTINED;
        resting.add(new Rest(cid, endNs, order++));
        resting.sort(
                ((Comparator<Rest>) (a, b) -> Long.signum(a.endNs - b.endNs))
                        .thenComparingLong(Rest::order));
    }

    void settle(long nowNs) {
        while (!resting.isEmpty() && resting.getFirst().endNs - nowNs <= 0) {
            int cid = resting.removeFirst().cid;
            state[cid] = SlotState.FREE;
            free.addLast(cid);
        }
    }

    int inUse() {
        return capacity - free.size() - resting.size();
    }

    long nextDeadlineNs() {
        return resting.isEmpty() ? Long.MAX_VALUE : resting.getFirst().endNs;
    }

    int load() {
        return free.isEmpty() ? 255 : 254 * inUse() / capacity;
    }
}
