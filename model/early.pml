/*
 * Messages inside REQUEST (0-RTT): each is executed at most once and in order, and its initiator is
 * told the truth, though REQUESTs are repeated, late and denied, grants are lost and leases are
 * taken back. One connection; what it competes with for slots is left to chance.
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

/* The target: the nonce that holds a slot, the one that waits, the newest. 0 is none. */
byte held, waiting, newest;
byte executed;

/* What GRANT n and DENY n say: decided on; granted; the message inside was executed. */
bit granted[NONCES + 1];
bit did[NONCES + 1];

#ifdef BUG_NO_NONCES
#define IS_USED(n) false
#else
#define IS_USED(n) ((n) <= newest)
#endif
#ifdef BUG_DENY_IS_SILENT
#define SAID(n) (did[n] && granted[n] && held == (n))
#else
#define SAID(n) did[n]
#endif

/* At most once, in order. */
inline execute(m) {
    assert(m == executed + 1);
    executed = m
}

inline complete(m) {
    assert(m == completed + 1 && m <= executed);
    completed = m
}

proctype Target() {
    byte n;
end:
    do
    /* REQUEST n */
    :: atomic {
        nonce > 0 -> select (n : 1 .. NONCES);
        if
        :: n > nonce || n == held || n == waiting || IS_USED(n) /* GRANT, QUEUED, DENY */
        :: else -> newest = n; held = 0; waiting = n /* MR-3.4-16 */
        fi;
        n = 0
    }
    /* Granted, at once or from the line; the message is executed, or has no receive, say. */
    :: d_step { waiting != 0 -> held = waiting; granted[held] = 1; waiting = 0 }
    :: d_step {
        waiting != 0 && carried[waiting] != 0 ->
        execute(carried[waiting]);
        held = waiting; granted[held] = 1; did[held] = 1; waiting = 0
    }
#ifdef BUG_AT_ONCE
    /* Executed while it waits, and nobody remembers. */
    :: d_step { waiting != 0 && carried[waiting] != 0 -> execute(carried[waiting]) }
#endif
    :: waiting = 0 /* MR-3.5-10 */
    :: held = 0 /* MR-3.3-4, MR-3.3-5, RELEASE */
    od
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
    :: d_step { /* GRANT */
        state == REQUESTED && granted[nonce] ->
        if
        :: SAID(nonce) -> complete(carried[nonce])
        :: else
        fi;
        state = OPEN
    }
    :: d_step { /* DENY */
        state == REQUESTED && nonce <= newest && held != nonce && waiting != nonce ->
        if
        :: SAID(nonce) -> complete(carried[nonce])
        :: else
        fi;
        state = IDLE
    }
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
