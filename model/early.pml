/*
 * Messages inside REQUEST (docs/protocol.md, section 3.7): each is executed at most once and in
 * order, and its initiator is told the truth, though REQUESTs are repeated, late and denied, grants
 * are lost and leases are taken back. One connection; what it competes with is left to chance.
 *
 * Every REQUEST, GRANT and DENY ever sent may still come, any number of times, in any order.
 */
#ifndef NONCES
#define NONCES 5 /* requests: 1 to NONCES */
#endif
#ifndef MESSAGES
#define MESSAGES 3 /* 1 to MESSAGES */
#endif

mtype = { IDLE, REQUESTED, OPEN, IN_DOUBT, FAILED };

/* The initiator. The message in REQUEST n is carried[n], 0 for none. */
mtype state = IDLE;
byte nonce, completed;
byte carried[NONCES + 1];

/* The target: the nonces that hold a slot, wait, are the newest, were executed last; 0 for none. */
byte held, waiting, newest, early;
byte executed;

/* GRANT and DENY of each nonce: whether one was sent with, or without, EARLY_DONE. */
bit granted[NONCES + 1], grantedDone[NONCES + 1];
bit denied[NONCES + 1], deniedDone[NONCES + 1];

/* MR-3.4-16 */
#ifdef BUG_NO_NONCES
#define IS_USED(n) false
#else
#define IS_USED(n) ((n) <= newest)
#endif
/* MR-3.7-9 */
#ifdef BUG_DENY_IS_SILENT
#define TELLS(n) false
#else
#define TELLS(n) (early == (n))
#endif
/* MR-3.7-12 */
#ifdef BUG_REFUSED_IS_FORGOTTEN
#define REFUSED_IS_NEWEST(n)
#else
#define REFUSED_IS_NEWEST(n) newest = n;
#endif

/* At most once, in order. */
inline execute(m) {
    assert(m == executed + 1);
    executed = m
}

/* Nothing is taken as done that was not. */
inline complete(m) {
    assert(m == completed + 1 && m <= executed);
    completed = m
}

inline grant(n) { /* MR-3.7-8 */
    if
    :: early == n -> grantedDone[n] = 1
    :: else -> granted[n] = 1
    fi
}

inline deny(n) {
    if
    :: TELLS(n) -> deniedDone[n] = 1
    :: else -> denied[n] = 1
    fi
}

proctype Target() {
    byte n;
end:
    do
    /* REQUEST n comes, perhaps once more. */
    :: atomic {
        nonce > 0 -> select (n : 1 .. NONCES);
        if
        :: n > nonce || n == waiting
        :: n <= nonce && n == held -> d_step { grant(n) } /* MR-3.4-1 */
        :: n <= nonce && n != held && n != waiting && IS_USED(n) -> d_step { deny(n) }
        :: n <= nonce && n != held && n != waiting && !IS_USED(n) ->
            if
            :: d_step { REFUSED_IS_NEWEST(n) deny(n) } /* nobody is remembered, no room in line */
            :: d_step { newest = n; held = 0; waiting = n }
            :: d_step { newest = n; waiting = 0; held = n; grant(n) }
            :: d_step { /* granted at once, and the message has what it takes: MR-3.7-6 */
                carried[n] != 0 ->
                newest = n; waiting = 0; held = n; early = n;
                execute(carried[n]);
                grant(n)
            }
            fi
        fi;
        n = 0
    }
#ifdef BUG_IN_LINE
    :: d_step { waiting != 0 && carried[waiting] != 0 -> execute(carried[waiting]) } /* MR-3.7-6 */
#endif
    :: d_step { waiting != 0 -> held = waiting; waiting = 0; grant(held) }
    :: waiting = 0 /* MR-3.5-10 */
    :: held = 0 /* MR-3.3-4, MR-3.3-5, RELEASE */
    od
}

/* MR-3.7-10 */
inline answered(done, next) {
    if
    :: done -> complete(carried[nonce])
    :: else
    fi;
    state = next
}

proctype Initiator() {
end:
    do
    :: d_step {
        state == IDLE && nonce < NONCES ->
        nonce++;
        carried[nonce] = (completed < MESSAGES -> completed + 1 : 0);
        state = REQUESTED
    }
    :: d_step { state == REQUESTED && granted[nonce] -> answered(false, OPEN) }
    :: d_step { state == REQUESTED && grantedDone[nonce] -> answered(true, OPEN) }
    :: d_step { state == REQUESTED && denied[nonce] -> answered(false, IDLE) }
    :: d_step { state == REQUESTED && deniedDone[nonce] -> answered(true, IDLE) }
    /* The next message, as DATA. */
    :: d_step {
        state == OPEN && held == nonce && completed < MESSAGES ->
        execute(completed + 1);
        state = IN_DOUBT
    }
    :: d_step { state == IN_DOUBT -> complete(completed + 1); state = OPEN } /* ACK */
    :: d_step { state == IN_DOUBT && held != nonce -> state = FAILED } /* RESET: MR-3.2-9 */
    :: d_step { state == OPEN -> state = IDLE } /* RELEASE, RESET */
    od
}

init { atomic { run Target(); run Initiator() } }
