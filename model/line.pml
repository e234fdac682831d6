/*
 * The waiting line (docs/protocol.md, sections 3.3 to 3.5 and 3.8, policy QUEUE): whoever waits in
 * it gets a slot at last, unless he dies. That tokens are safe is in lease.pml.
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
#ifndef SHORT_SLOTS
#define SHORT_SLOTS 0 /* how many may be held at once by those who overtook */
#endif
#define NOBODY INITIATORS

mtype = { IDLE, REQUESTED, OPEN, RELEASING, DEAD };
mtype state[INITIATORS] = IDLE;

/* At the target: who waits, who holds which slot, who was asked to give it back. */
chan line = [INITIATORS] of { byte };
byte holder[SLOTS] = NOBODY;
bit resting[SLOTS];
bit overtaken[SLOTS]; /* granted before its turn; counts until the slot is free again */
bit waits[INITIATORS], holds[INITIATORS], asked[INITIATORS];
byte askedBack, overtakers, freeSlots = SLOTS;

/* Slots of those who were not asked, the longest held first. */
chan unasked = [SLOTS] of { byte };

#define IS_FREE(s) (holder[s] == NOBODY && !resting[s])

/* By symmetry, what holds for one initiator holds for all. */
ltl served { [] (waits[0] -> <> (holds[0] || state[0] == DEAD)) }

#ifdef BUG_LIFO_LINE
#define NEXT_OF_LINE (len(line) - 1)
#else
#define NEXT_OF_LINE 0
#endif
#ifdef BUG_SHORT_FIRST
#define MAY_OVERTAKE true
#else
#define MAY_OVERTAKE (overtakers < SHORT_SLOTS)
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

/* Takes number i out of the line, 0 for the head, and gives it the slot s. */
inline grant(s, i) {
    j = len(line);
    do
    :: j > 0 ->
        line?d;
        if
        :: i == 0 -> c = d
        :: else -> line!d
        fi;
        j--;
        if
        :: i >= 0 -> i--
        :: else
        fi
    :: else -> break
    od;
    waits[c] = 0; holds[c] = 1; holder[s] = c; unasked!s; freeSlots--;
    c = 0; d = 0; i = 0
}

inline becomeFree(s) {
    resting[s] = 0; freeSlots++;
    if
    :: overtaken[s] -> overtaken[s] = 0; overtakers--
    :: else
    fi
}

/* The holder of the slot s has it no more. */
inline endLease(s, inOrder) {
    c = holder[s];
    if
    :: asked[c] -> asked[c] = 0; askedBack--
    :: else -> unasked??eval(s)
    fi;
    holds[c] = 0; holder[s] = NOBODY; resting[s] = 1;
    if
    :: inOrder -> becomeFree(s)
    :: else
    fi;
    c = 0
}

/* What the target does about one of its slots when time goes by. */
proctype Slot(byte me) {
    byte c, d, j;
    short i;
    do
    :: d_step { IS_FREE(me) && nempty(line) -> i = NEXT_OF_LINE; grant(me, i) } /* MR-3.5-2 */
#if SHORT_SLOTS || defined(BUG_SHORT_FIRST)
    :: atomic {
        /* A short request comes before its turn, while slots are short: MR-3.8-3. */
        IS_FREE(me) && freeSlots == 1 && nempty(line) && MAY_OVERTAKE ->
        select (i : 0 .. len(line) - 1);
        d_step {
            grant(me, i);
            overtaken[me] = 1; overtakers++
        }
    }
#endif
    :: d_step { resting[me] -> becomeFree(me) } /* MR-3.1-7 */
    :: d_step { /* MR-3.5-1 */
        ASKS && unasked?[eval(me)] ->
        unasked?eval(me); asked[holder[me]] = 1; askedBack++
    }
    :: d_step { /* MR-3.3-5, MR-3.5-8 */
        holder[me] != NOBODY && IS_GONE(holder[me]) -> endLease(me, false)
    }
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
    :: d_step { /* REQUEST, which comes when all that wait and could be served are */
        state[me] == REQUESTED && !waits[me] && !holds[me] && (freeSlots == 0 || empty(line)) ->
        waits[me] = 1; line!me
    }
    :: state[me] == REQUESTED && waits[me] /* asks again: MR-3.4-5 */
    :: d_step { state[me] == REQUESTED && holds[me] -> state[me] = OPEN } /* GRANT */
    :: state[me] == OPEN && holds[me] && !asked[me] /* busy for as long as it likes */
    :: d_step { /* RECLAIM, or idle: MR-3.3-9, MR-3.5-9 */
        state[me] == OPEN && holds[me] -> state[me] = RELEASING
    }
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
