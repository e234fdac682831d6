/*
 * The waiting line (docs/protocol.md, sections 3.3 to 3.5, policy QUEUE): whoever waits in it gets a
 * slot at last, unless he dies. That tokens are safe is in lease.pml.
 *
 * The network is fair: what is sent again and again arrives. So a message and what it does at its
 * receiver are one step, which may be late; and a time-out may be late, but comes. SPIN's weak
 * fairness says both: a process that can go on, and can for ever, does.
 */
#ifndef INITIATORS
#define INITIATORS 3
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#define NOBODY INITIATORS

mtype = { IDLE, REQUESTED, OPEN, RELEASING, DEAD };
mtype state[INITIATORS] = IDLE;

/* At the target: who waits, who holds which slot, who was asked to give it back. */
chan line = [INITIATORS] of { byte };
byte holder[SLOTS] = NOBODY;
bit resting[SLOTS];
bit waits[INITIATORS], holds[INITIATORS], asked[INITIATORS];
byte askedBack;

/* By symmetry, what holds for one initiator holds for all. */
ltl served { [] (waits[0] -> <> (holds[0] || state[0] == DEAD)) }

#ifdef BUG_LIFO_LINE
#define NEXT_OF_LINE(c) last(c)
#else
#define NEXT_OF_LINE(c) line?c
#endif
#ifdef BUG_NO_RECLAIM
#define ASKS false
#else
#define ASKS (len(line) > askedBack)
#endif
#ifdef BUG_NO_EXPIRY
#define IS_GONE(c) false
#else
#define IS_GONE(c) (state[c] == DEAD)
#endif

/* Takes the last one of the line, which nobody should. */
inline last(c) {
    i = len(line);
    do
    :: i > 1 -> line?c; line!c; i--
    :: else -> break
    od;
    line?c;
    i = 0
}

/* The holder of the slot s has it no more. */
inline endLease(s, inOrder) {
    c = holder[s];
    if
    :: asked[c] -> asked[c] = 0; askedBack--
    :: else
    fi;
    holds[c] = 0; holder[s] = NOBODY; resting[s] = !inOrder;
    c = 0
}

/* What the target does about one of its slots when time goes by. */
proctype Slot(byte me) {
    byte c, i;
    do
    :: d_step { /* MR-3.5-2 */
        holder[me] == NOBODY && !resting[me] && nempty(line) ->
        NEXT_OF_LINE(c);
        waits[c] = 0; holds[c] = 1; holder[me] = c; c = 0
    }
    :: d_step { resting[me] -> resting[me] = 0 } /* MR-3.1-7 */
    :: d_step { /* MR-3.5-1 */
        holder[me] != NOBODY && !asked[holder[me]] && ASKS ->
        asked[holder[me]] = 1; askedBack++
    }
    :: d_step { holder[me] != NOBODY && IS_GONE(holder[me]) -> endLease(me, false) } /* MR-3.3-5, MR-3.5-8 */
    od
}

/* Takes a lease back from a holder that is alive, as often as it likes: MR-3.3-4, MR-3.5-8. */
proctype Impatient() {
    byte c, s;
    do
    :: atomic {
        select (s : 0 .. SLOTS - 1);
        if
        :: holder[s] != NOBODY -> d_step { endLease(s, false); s = 0 }
        :: s = 0
        fi
    }
    od
}

proctype Initiator(byte me) {
    byte c, s;
    do
    :: d_step { state[me] == IDLE -> state[me] = REQUESTED }
    :: d_step { state[me] == REQUESTED && !waits[me] && !holds[me] -> waits[me] = 1; line!me } /* REQUEST */
    :: state[me] == REQUESTED && waits[me] /* asks again: MR-3.4-5 */
    :: d_step { state[me] == REQUESTED && holds[me] -> state[me] = OPEN } /* GRANT */
    :: state[me] == OPEN && holds[me] && !asked[me] /* busy for as long as it likes */
    :: d_step { state[me] == OPEN && holds[me] -> state[me] = RELEASING } /* RECLAIM, or idle: MR-3.3-9, MR-3.5-9 */
    :: d_step { /* RELEASE: MR-3.3-7 */
        state[me] == RELEASING && holds[me] ->
        s = 0;
        do
        :: holder[s] == me -> break
        :: else -> s++
        od;
        endLease(s, true);
        s = 0
    }
    /* RELEASE_ACK, RESET: MR-3.3-10, MR-3.2-9 */
    :: d_step { (state[me] == OPEN || state[me] == RELEASING) && !holds[me] -> state[me] = IDLE }
    :: d_step { state[me] != DEAD -> state[me] = DEAD }
    :: d_step { state[me] == DEAD && waits[me] -> line??eval(me); waits[me] = 0 } /* MR-3.5-10 */
    :: d_step { state[me] == DEAD && !waits[me] && !holds[me] -> state[me] = IDLE }
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. INITIATORS - 1) { run Initiator(i) }
        for (i : 0 .. SLOTS - 1) { run Slot(i) }
        run Impatient()
    }
}
