package dev.metaroce.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A connection that a peer asks for, until the application answers: inside the call that offers it,
 * or later from any thread, while the peer is told to wait.
 */
public abstract class Offer {
    /** What became of it. */
    public enum Answer {
        /** Offered; the call that offers it may still answer. */
        NONE,
        /** The peer waits. */
        PENDING,
        ACCEPTED,
        REJECTED,
        /** Too many wait: the peer is to ask again later. */
        BUSY,
        /** The peer went away, or waited for too long. */
        WITHDRAWN
    }

    /** An answer with its private data: both change at once. */
    private static final class State {
        final Answer answer;
        final byte[] privateData;

        State(Answer answer, byte[] privateData) {
            this.answer = answer;
            this.privateData = privateData;
        }
    }

    private static final byte[] NO_DATA = {};
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Offer.class, "state", State.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private State state = new State(Answer.NONE, NO_DATA);

    /** The connection it is about; CONNECTING until it is accepted. */
    public abstract ProtocolConnection connection();

    /** Any thread: true when the peer went away or waited for too long. */
    public boolean isWithdrawn() {
        return answer() == Answer.WITHDRAWN;
    }

    /** Any thread: true when it was answered or withdrawn. */
    public boolean isOver() {
        Answer now = answer();
        return now != Answer.NONE && now != Answer.PENDING;
    }

    /**
     * Any thread: accepts, once. Nothing happens when it was withdrawn.
     *
     * @param privateData 0..64 bytes
     * @return true when the engine has to be told, by {@code Engine.answered}
     * @throws IllegalStateException when it was answered before
     */
    public boolean accept(byte[] privateData) {
        return answer(new State(Answer.ACCEPTED, privateData.clone()));
    }

    /** As {@link #accept}, but refuses. */
    public boolean reject(byte[] privateData) {
        return answer(new State(Answer.REJECTED, privateData.clone()));
    }

    /** As {@link #reject}, but the peer asks again after a while. */
    public boolean busy() {
        return answer(new State(Answer.BUSY, NO_DATA));
    }

    private boolean answer(State answer) {
        while (true) {
            State before = now();
            switch (before.answer) {
                case NONE, PENDING -> {
                    if (STATE.compareAndSet(this, before, answer)) {
                        return before.answer == Answer.PENDING;
                    }
                }
                case WITHDRAWN -> {
                    return false;
                }
                case ACCEPTED, REJECTED, BUSY ->
                        throw new IllegalStateException(
                                connection() + ": the request was answered before");
            }
        }
    }

    /** Engine thread: the answer so far; when there is none, the next one has to be told. */
    public Answer await() {
        State before = now();
        if (before.answer == Answer.NONE) {
            STATE.compareAndSet(this, before, new State(Answer.PENDING, NO_DATA));
        }
        return answer();
    }

    /** Engine thread: no answer is waited for any more; an answer given meanwhile stays. */
    public void withdraw() {
        State before = now();
        if (before.answer == Answer.NONE || before.answer == Answer.PENDING) {
            STATE.compareAndSet(this, before, new State(Answer.WITHDRAWN, NO_DATA));
        }
    }

    /** The answer so far. */
    public Answer answer() {
        return now().answer;
    }

    /** The private data of the answer; empty without one. */
    public byte[] privateData() {
        return now().privateData;
    }

    private State now() {
        return (State) STATE.getAcquire(this);
    }
}
