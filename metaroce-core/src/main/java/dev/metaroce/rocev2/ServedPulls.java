package dev.metaroce.rocev2;

import dev.metaroce.wire.roce.Psn24;

import org.jspecify.annotations.Nullable;

/**
 * The READs and atomics that a responder served last, as many as may be asked for at once: a READ
 * that comes again is executed again, from where it is asked for, and an atomic is answered with
 * the value that it found the first time. Responses are sent in the order of the requests. Owner:
 * the engine thread.
 */
final class ServedPulls {
    /** One of them. */
    static final class Pull {
        boolean atomic;

        /** Responses are still to be sent. */
        boolean pending;

        int firstPsn;
        int psns;

        /** All of its responses were sent once. */
        boolean answered;

        /** Messages completed with this one. */
        int msn;

        /** The value before an atomic. */
        long result;

        // A READ, as it was asked for last
        long va;
        int rkey;
        long length;
        int askedPsn;

        /** PSN of the next response. */
        int nextPsn;

        /** Bytes before the next response, of those asked for last. */
        long offset(int mtu) {
            return (long) Psn24.distance(askedPsn, nextPsn) * mtu;
        }

        boolean has(int psn) {
            return ((psn - firstPsn) & Psn24.MASK) < psns;
        }
    }

    private final Pull[] pulls;

    /** Requests served ever; the last ones are in the table. */
    private long count;

    /** No request before this one has responses to send. */
    private long head;

    ServedPulls(int size) {
        pulls = new Pull[size];
        for (int i = 0; i < size; i++) {
            pulls[i] = new Pull();
        }
    }

    private Pull at(long number) {
        return pulls[(int) (number % pulls.length)];
    }

    /**
     * True when one more is asked for than may be: the oldest was never answered. One that was, and
     * is only to be repeated, gives way: who asks for more has its answer.
     */
    boolean isFull() {
        return count >= pulls.length && at(count).pending && !at(count).answered;
    }

    /** The entry for a new request, with its responses to be sent. */
    Pull add(int psn, int psns) {
        Pull pull = at(count++);
        pull.firstPsn = psn;
        pull.psns = psns;
        pull.answered = false;
        ask(pull, psn);
        return pull;
    }

    /** The responses are to be sent from this PSN on. */
    void ask(Pull pull, int psn) {
        pull.pending = true;
        pull.askedPsn = psn;
        pull.nextPsn = psn;
        head = Math.max(0, count - pulls.length);
    }

    /** The request that this PSN belongs to, or null when it was too long ago. */
    @Nullable Pull find(int psn) {
        for (long i = count - 1; i >= Math.max(0, count - pulls.length); i--) {
            if (at(i).has(psn)) {
                return at(i);
            }
        }
        return null;
    }

    /** The oldest request with responses to be sent, or null. */
    @Nullable Pull pending() {
        while (head < count) {
            Pull pull = at(head);
            if (pull.pending) {
                return pull;
            }
            head++;
        }
        return null;
    }

    boolean hasPending() {
        return pending() != null;
    }

    /** Nothing of them is sent any more. */
    void clear() {
        for (Pull pull : pulls) {
            pull.pending = false;
        }
        head = count;
    }
}
