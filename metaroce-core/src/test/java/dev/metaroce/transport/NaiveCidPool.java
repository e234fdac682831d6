package dev.metaroce.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What {@link CidPool} should do, written with plain collections and without a thought for speed.
 * Besides, it remembers when each token was last released and reports a token that returns too
 * early, which does not depend on how the pool prevents it.
 */
final class NaiveCidPool {
    record Waiter(int peer, int host, int ticket, boolean isShort) {}

    record Holder(int host, boolean asShort) {}

    record Rest(int cid, boolean asShort, long endNs, long order) {}

    final int capacity;
    final int maxWaiters;
    final int maxWaitersPerPeer;
    final long lifetimeNs;
    final ExhaustionPolicy policy;
    final SlotState[] state;
    final int[] epoch;
    final int shortSlots;
    final Map<Integer, Holder> holders = new TreeMap<>();
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
            int firstEpoch,
            int shortSlots) {
        this.capacity = capacity;
        this.maxWaiters = maxWaiters;
        this.maxWaitersPerPeer = maxWaitersPerPeer;
        this.lifetimeNs = lifetimeNs;
        this.policy = policy;
        this.shortSlots = Math.min(shortSlots, capacity - 1);
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

    String request(long nowNs, int peer, int host, int ticket, boolean isShort) {
        settle(nowNs);
        if (waiters.isEmpty() && !free.isEmpty()) {
            return grant(nowNs, new Holder(host, false));
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
        if (2 * waiters.stream().filter(w -> w.host == host).count() >= maxWaiters) {
            return "DENY HOST_CAP";
        }
        waiters.add(new Waiter(peer, host, ticket, isShort));
        return "QUEUED " + position(ticket);
    }

    String pollGrant(long nowNs) {
        settle(nowNs);
        if (waiters.isEmpty() || free.isEmpty()) {
            return "NONE";
        }
        long taken =
                holders.values().stream().filter(Holder::asShort).count()
                        + resting.stream().filter(Rest::asShort).count();
        boolean lane = taken < shortSlots;
        // A stable sort: first come, first served among equals.
        Waiter next =
                waiters.stream()
                        .sorted(
                                Comparator.comparing(this::crowds)
                                        .thenComparing(w -> !(lane && w.isShort)))
                        .findFirst()
                        .orElseThrow();
        waiters.remove(next);
        return "TICKET "
                + next.ticket
                + " "
                + grant(nowNs, new Holder(next.host, lane && next.isShort));
    }

    /** True when the waiter's host holds half of the slots. */
    private boolean crowds(Waiter waiter) {
        return 2 * holders.values().stream().filter(h -> h.host == waiter.host).count() >= capacity;
    }

    boolean cancel(int ticket) {
        return waiters.removeIf(w -> w.ticket == ticket);
    }

    int position(int ticket) {
        for (int i = 0; i < waiters.size(); i++) {
            Waiter waiter = waiters.get(i);
            if (waiter.ticket == ticket) {
                boolean preferred = shortSlots > 0 && waiter.isShort;
                return 1
                        + (int)
                                waiters.stream()
                                        .limit(i)
                                        .filter(w -> w.isShort || !preferred)
                                        .count();
            }
        }
        return 0;
    }

    private String grant(long nowNs, Holder holder) {
        grants++;
        int cid = free.removeFirst();
        holders.put(cid, holder);
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
        boolean asShort = holders.remove(cid).asShort;
        releasedNs[cid][epoch[cid]] = nowNs;
        int next = (epoch[cid] + 1) % 256;
        long ageNs = nowNs - enteredHalfNs[cid];
        if (next / 128 != epoch[cid] / 128 && ageNs < lifetimeNs) {
            halfRuleWaits++;
            rest(cid, asShort, enteredHalfNs[cid] + lifetimeNs);
        } else {
            state[cid] = SlotState.FREE;
            free.addLast(cid);
        }
    }

    void expire(long nowNs, int cid) {
        boolean asShort = holders.remove(cid).asShort;
        releasedNs[cid][epoch[cid]] = nowNs;
        rest(cid, asShort, nowNs + lifetimeNs);
    }

    private void rest(int cid, boolean asShort, long endNs) {
        state[cid] = SlotState.QUARANTINED;
        resting.add(new Rest(cid, asShort, endNs, order++));
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
