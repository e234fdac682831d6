package dev.metaroce.sim.event;

import java.util.Arrays;

/**
 * The events of the bucket that is open, sorted. What is added to it finds its place from the end,
 * when that is near; else it goes to a heap. At one time, what is sorted was added before what is
 * in the heap and comes first: an event went to the heap because there are many later ones here,
 * which stay until it is taken, and so any other of its time goes there too.
 */
final class DueEvents {
    /** Events that are sorted in registers. */
    static final int FEW = 7;

    private static final int INITIAL_EVENTS = 64;
    private static final int MAX_MOVED = 16;

    private final EventHeap heap = new EventHeap();

    /** Times and events in turn. */
    private long[] sorted = new long[2 * INITIAL_EVENTS];

    private long[] scratch = sorted.clone();
    private int first;
    private int end;

    /** As many as the heap says, at hand. */
    private int inHeap;

    private int heaped;
    private long timePs;
    private long event;

    boolean isEmpty() {
        return first == end && inHeap == 0;
    }

    /** Time of the event taken last. */
    long timePs() {
        return timePs;
    }

    /** The event taken last. */
    long event() {
        return event;
    }

    /** Time of the first event; there must be one. */
    long earliestPs() {
        if (inHeap == 0) {
            return sorted[first];
        }
        return first == end ? heap.timePs() : Math.min(sorted[first], heap.timePs());
    }

    /** Takes the first event; there must be one. */
    void take() {
        if (inHeap == 0 || (first < end && sorted[first] <= heap.timePs())) {
            timePs = sorted[first];
            event = sorted[first + 1];
            first += 2;
        } else {
            timePs = heap.timePs();
            event = heap.event();
            heap.remove();
            inHeap--;
        }
    }

    void add(long atPs, long what) {
        if (!insert(atPs, what)) {
            heap.add(atPs, what);
            inHeap++;
            if (atPs > timePs) {
                heaped++;
            }
        }
    }

    /** Puts an event to its place if few events are to be moved for it. */
    private boolean insert(long atPs, long what) {
        if (first == end) {
            first = 0;
            end = 0;
        } else if (end == sorted.length) {
            makeRoom();
        }
        long[] to = sorted;
        int at = end;
        int stop = Math.max(first, at - 2 * MAX_MOVED);
        while (at > stop && to[at - 2] > atPs) {
            at -= 2;
        }
        if (at > first && to[at - 2] > atPs) {
            return false;
        }
        for (int i = end; i > at; i -= 2) {
            to[i] = to[i - 2];
            to[i + 1] = to[i - 1];
        }
        to[at] = atPs;
        to[at + 1] = what;
        end += 2;
        return true;
    }

    private void makeRoom() {
        int longs = end - first;
        long[] to = longs > sorted.length / 2 ? new long[2 * sorted.length] : sorted;
        System.arraycopy(sorted, first, to, 0, longs);
        sorted = to;
        first = 0;
        end = longs;
    }

    /** Events that went to the heap, though not for the present, since this was last asked for. */
    int heaped() {
        return heaped;
    }

    /** Begins to count {@link #heaped()} again; returns how many events are in the heap. */
    int recountHeaped() {
        heaped = 0;
        return inHeap;
    }

    /** Takes over up to {@value #FEW} events, times and events in turn; none may be here. */
    void fill(long[] from, int at, int fromEnd) {
        // The place of each is found without a branch, for which way it goes cannot be predicted:
        // it is the number of events with an earlier time, or with the same and added before. All
        // places are in one long, 8 bits each.
        long[] to = sorted;
        long places = 0;
        int bit = 0;
        for (int i = at; i < fromEnd; i += 2) {
            long place = ((long) i - at) / 2;
            int otherBit = 0;
            for (int other = at; other < i; other += 2) {
                long isEarlier = (from[i] - from[other]) >>> (Long.SIZE - 1);
                places += isEarlier << otherBit;
                place -= isEarlier;
                otherBit += Byte.SIZE;
            }
            places += place << bit;
            bit += Byte.SIZE;
        }
        for (int i = at; i < fromEnd; i += 2) {
            int place = 2 * ((int) places & 0xFF);
            to[place] = from[i];
            to[place + 1] = from[i + 1];
            places >>>= Byte.SIZE;
        }
        first = 0;
        end = fromEnd - at;
    }

    /** Takes over a list of events that were added after those which are here. */
    void append(EventLists lists, int list) {
        int block = lists.next(list);
        while (true) {
            int longs = 2 * lists.count(block);
            if (end + longs > sorted.length) {
                sorted = Arrays.copyOf(sorted, 2 * sorted.length);
            }
            System.arraycopy(lists.array(), block + EventLists.FIRST, sorted, end, longs);
            end += longs;
            int next = lists.next(block);
            lists.release(block);
            if (block == list) {
                break;
            }
            block = next;
        }
        while (runEnd(0) < end) {
            mergeRuns();
        }
    }

    /** Merges every two neighbouring runs. */
    private void mergeRuns() {
        if (scratch.length < sorted.length) {
            scratch = new long[sorted.length];
        }
        int done = 0;
        while (done < end) {
            int middle = runEnd(done);
            int last = middle == end ? end : runEnd(middle);
            merge(done, middle, last);
            done = last;
        }
        long[] merged = scratch;
        scratch = sorted;
        sorted = merged;
    }

    private int runEnd(int from) {
        int at = from + 2;
        while (at < end && sorted[at - 2] <= sorted[at]) {
            at += 2;
        }
        return at;
    }

    private void merge(int from, int middle, int last) {
        long[] source = sorted;
        long[] to = scratch;
        int left = from;
        int right = middle;
        int at = from;
        while (left < middle && right < last) {
            int next;
            if (source[left] <= source[right]) {
                next = left;
                left += 2;
            } else {
                next = right;
                right += 2;
            }
            to[at] = source[next];
            to[at + 1] = source[next + 1];
            at += 2;
        }
        System.arraycopy(source, left, to, at, middle - left);
        System.arraycopy(source, right, to, at + middle - left, last - right);
    }

    /** Events that were filled in. */
    int count() {
        return (end - first) / 2;
    }

    /** Different times among the events that were filled in; few events count as many. */
    int distinctTimes() {
        if (count() <= FEW) {
            return count();
        }
        int distinct = 1;
        for (int i = first + 2; i < end; i += 2) {
            distinct += sorted[i] == sorted[i - 2] ? 0 : 1;
        }
        return distinct;
    }

    /** Moves everything to an array of times and events in turn; returns the end. */
    int moveTo(long[] to, int at) {
        int longs = end - first;
        System.arraycopy(sorted, first, to, at, longs);
        first = end;
        int moved = at + longs;
        while (inHeap > 0) {
            to[moved] = heap.timePs();
            to[moved + 1] = heap.event();
            moved += 2;
            heap.remove();
            inHeap--;
        }
        return moved;
    }
}
