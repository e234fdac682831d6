/*
 * The life of a context id (docs/protocol.md, section 3): what a target and its initiators do about
 * a pool of slots, over a network that loses, copies, delays and reorders. Only safety is looked at
 * here; that everyone is served is in line.pml. README.md says what is left out, and why.
 *
 * The network is a set of packets. One that was delivered may come again, in any order; one that is
 * never delivered was lost. Whoever may send a packet, by the state he is in, is taken to send it
 * all the time. When he leaves that state, the last copy is still on its way: DATA and ACK, which
 * carry a token and no nonce, for one packet lifetime, and all others for ever. There is no clock:
 * "one packet lifetime after X" means that what was on its way at X is gone.
 *
 * Worst case: all connections belong to one endpoint at one address, and every lease starts at the
 * same PSN. So the checks of address (MR-3.2-2, MR-3.3-6), EndpointId and window (MR-3.2-3) help
 * nobody here; CID, epoch and nonce have to do it all.
 */
#ifndef CONNECTIONS
#define CONNECTIONS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef EPOCHS
#define EPOCHS 4 /* 256 in the protocol */
#endif
#ifndef NONCES
#define NONCES 3 /* requests of a connection, repetitions not counted: 1 to NONCES */
#endif
#ifndef REQUESTS
#define REQUESTS 5 /* and of both together */
#endif

#define HALF (EPOCHS / 2)

/* ---- what is on its way ---- */

/* By kind and connection, a bit for each nonce. */
#define DATA 0 /* a lease has one DATA packet */
#define ACK 1
#define SETS (2 * CONNECTIONS)
#define SET(kind, c) ((kind) * CONNECTIONS + (c))
#define BIT(n) (1 << (n))
byte way[SETS];
#define ON_WAY(kind, c, n) (way[SET(kind, c)] & BIT(n))

/*
 * A slot has two clocks, which count one packet lifetime: since it entered its half of the epochs,
 * and since its quarantine began. Of each: the copies that were on their way then, and are yet.
 */
#define CLOCKS (2 * SLOTS)
#define HALF_CLOCK(s) (s)
#define REST_CLOCK(s) (SLOTS + (s))
byte older[CLOCKS * SETS];
#define OLDER(clock, set) older[(clock) * SETS + (set)]

/* The last copy, the youngest, is on its way. */
inline leave(what, who, number) {
    way[SET(what, who)] = way[SET(what, who)] | BIT(number);
    for (j : 0 .. CLOCKS - 1) {
        OLDER(j, SET(what, who)) = OLDER(j, SET(what, who)) & ~BIT(number)
    }
    j = 0
}

inline start(clock) {
    for (j : 0 .. SETS - 1) { OLDER(clock, j) = way[j] }
    j = 0
}

inline strike(clock) {
    for (j : 0 .. SETS - 1) {
        r = OLDER(clock, j);
        way[j] = way[j] & ~r;
        for (i : 0 .. CLOCKS - 1) { OLDER(i, j) = OLDER(i, j) & ~r }
    }
    i = 0; j = 0; r = 0
}

/* ---- what packets say, by connection and nonce ---- */

/* The token that was granted, CID and epoch; 0 before. */
byte token[CONNECTIONS * (NONCES + 1)];
#define TOKEN(c, n) token[(c) * (NONCES + 1) + (n)]
#define TOKEN_OF(s, e) (1 + (s) * EPOCHS + (e))
#define CID(t) (((t) - 1) / EPOCHS)
#define EPOCH(t) (((t) - 1) % EPOCHS)

/* A bit for each nonce: DATA was sent, so that FinalPsn is 1; RELEASE was sent. */
byte sent[CONNECTIONS];
byte released[CONNECTIONS];
#define FINAL_PSN(c, n) ((sent[c] >> (n)) & 1)

/* ---- the initiators ---- */

mtype = { IDLE, REQUESTED, OPEN, RELEASING };

typedef Lease {
    mtype state = IDLE;
    byte nonce;
    bit acked
}
Lease lease[CONNECTIONS];

#define IS_IN(c, n, where) (lease[c].state == where && lease[c].nonce == (n))
#define HAS_LEASE(c) (lease[c].state == OPEN || lease[c].state == RELEASING)
#define THINKS(c, t) (HAS_LEASE(c) && TOKEN(c, lease[c].nonce) == (t))

/* MR-3.3-1 */
#ifdef BUG_EARLY_RELEASE
#define MAY_RELEASE(c) true
#else
#define MAY_RELEASE(c) (FINAL_PSN(c, lease[c].nonce) == lease[c].acked)
#endif

/* ---- the target ---- */

mtype = { FREE, HELD, QUARANTINED, HALF_USED };

typedef Slot {
    mtype state = FREE;
    byte holder;
    byte nonce;
    byte epoch = EPOCHS - 1;
    bit psn /* the next expected one */
}
Slot slot[SLOTS];

chan freeSlots = [SLOTS] of { byte };
chan line = [CONNECTIONS] of { byte, byte }; /* connection, nonce */
byte inUse, resting;

/* Per connection: the newest nonce decided on, and the nonce of the newest data. */
byte newest[CONNECTIONS];
byte accepted[CONNECTIONS];

/* MR-3.2-1 */
#define HOLDS(t) ((t) != 0 && slot[CID(t)].state == HELD && slot[CID(t)].epoch == EPOCH(t))
#define HOLDER_IS(s, c, n) (slot[s].state == HELD && slot[s].holder == c && slot[s].nonce == (n))

/* MR-3.1-5 */
#ifdef BUG_SAME_EPOCH
#define NEXT_EPOCH(s) slot[s].epoch
#else
#define NEXT_EPOCH(s) ((slot[s].epoch + 1) % EPOCHS)
#endif

/* MR-3.1-6 */
#ifdef BUG_NO_HALF_RULE
#define MUST_REST(s) false
#else
#define MUST_REST(s) ((slot[s].epoch + 1) % HALF == 0)
#endif

/* MR-3.3-7 */
#ifdef BUG_RELEASE_OF_ANY_NONCE
#define MAY_END(s, c, n) true
#else
#define MAY_END(s, c, n) HOLDER_IS(s, c, n)
#endif

/* MR-3.4-2, MR-3.4-16 */
#ifdef BUG_REGRANT
#define IS_USED(c, n) false
#else
#define IS_USED(c, n) ((n) <= newest[c])
#endif

/* ---- what comes ---- */

#define HOLDS_NOW(c, n) HOLDER_IS(CID(TOKEN(c, n)), c, n)
#define REQUEST_COMES(c, n) ((n) <= lease[c].nonce)
#define GRANT_COMES(c, n) (TOKEN(c, n) != 0)
#define DATA_COMES(c, n) (IS_IN(c, n, OPEN) && !lease[c].acked || ON_WAY(DATA, c, n))
#define ACK_COMES(c, n) \
    (TOKEN(c, n) != 0 && HOLDS_NOW(c, n) && slot[CID(TOKEN(c, n))].psn == 1 || ON_WAY(ACK, c, n))
#define RELEASE_COMES(c, n) (released[c] & BIT(n))

/* RELEASE that names no path, after a late GRANT, RECLAIM or KEEPALIVE: MR-3.4-15, MR-3.3-8. */
#define GIVE_BACK_COMES(c, n) \
    (TOKEN(c, n) != 0 && !IS_IN(c, n, REQUESTED) && !THINKS(c, TOKEN(c, n)))

/*
 * The one thing that is assumed of initiators: who lost a lease without giving it back does not
 * send under its token any more, nor will, when the slot enters the other half. README.md says
 * what makes it so.
 */
#ifdef BUG_SLEEPER
#define SENDS_YET(c, s) false
#else
#define SENDS_YET(c, s) \
    (TOKEN(c, lease[c].nonce) != 0 && CID(TOKEN(c, lease[c].nonce)) == (s) \
        && lease[c].state != IDLE)
#endif

inline leaveHolder(s) {
    assert(slot[s].state == HELD); /* MR-3.1-3 */
    if
    :: slot[s].psn == 1 -> leave(ACK, slot[s].holder, slot[s].nonce)
    :: else
    fi;
    slot[s].holder = 0; slot[s].nonce = 0; slot[s].psn = 0;
    inUse--
}

inline becomeFree(s) { slot[s].state = FREE; freeSlots!s }

/* Given back in order. */
inline releaseSlot(s) {
    leaveHolder(s);
    if
    :: MUST_REST(s) -> slot[s].state = HALF_USED; resting++
    :: else -> becomeFree(s)
    fi
}

/* Taken back: by a time-out, a new request of its holder, a RELEASE out of order. */
inline expireSlot(s) {
    leaveHolder(s);
#ifdef BUG_NO_QUARANTINE
    becomeFree(s)
#else
    start(REST_CLOCK(s)); /* MR-3.1-7 */
    slot[s].state = QUARANTINED; resting++
#endif
}

inline endRest(s) {
    if
    :: slot[s].state == QUARANTINED -> strike(REST_CLOCK(s))
    :: slot[s].state == HALF_USED -> strike(HALF_CLOCK(s))
    fi;
    resting--;
    becomeFree(s)
}

/* The head of the line gets the slot that was free for longest: MR-3.1-4, MR-3.5-2. */
inline serve() {
    freeSlots?<s>;
    t = TOKEN_OF(s, NEXT_EPOCH(s));
    if
    :: EPOCH(t) % HALF == 0 && (SENDS_YET(0, s) || SENDS_YET(1, s))
    :: else ->
        freeSlots?s;
        line?c, n;
        if
        :: EPOCH(t) % HALF == 0 -> start(HALF_CLOCK(s))
        :: else
        fi;
        assert(TOKEN(c, n) == 0); /* no double grant */
        TOKEN(c, n) = t;
        slot[s].state = HELD; slot[s].holder = c; slot[s].nonce = n; slot[s].epoch = EPOCH(t);
        inUse++
    fi
}

/* Of a REQUEST that has a lease or a place in line, which is answered and changes nothing. */
#define IS_KNOWN(c, n) (TOKEN(c, n) != 0 && HOLDS_NOW(c, n) || line??[eval(c), eval(n)])

inline onRequest() {
    if
    :: IS_KNOWN(c, n) || IS_USED(c, n) /* GRANT, QUEUED, DENY: MR-3.4-1, MR-3.4-2 */
    :: else ->
        newest[c] = n;
        if
        :: line??[eval(c), _] -> line??eval(c), _
        :: !line??[eval(c), _]
        fi;
        line!c, n;
        for (s : 0 .. SLOTS - 1) {
            if
            :: slot[s].state == HELD && slot[s].holder == c -> expireSlot(s) /* MR-3.4-16 */
            :: else
            fi
        }
    fi
}

inline onData() {
    t = TOKEN(c, n);
    s = CID(t);
    sent[c] = sent[c] | BIT(n);
    if
    :: HOLDS(t) ->
        /* No stale acceptance: what is taken was sent under this very lease. */
        assert(slot[s].holder == c && slot[s].nonce == n);
        if
        :: slot[s].psn == 0 ->
            assert(n > accepted[c]); /* the order of a stream holds across leases */
            slot[s].psn = 1;
            accepted[c] = n
        :: else /* a duplicate */
        fi
    :: else /* RESET: see loseLease() */
    fi
}

inline onRelease(inOrder) {
    t = TOKEN(c, n);
    s = CID(t);
    if
    :: HOLDS(t) && MAY_END(s, c, n) ->
        assert(slot[s].holder == c && slot[s].nonce == n); /* nobody ends the lease of another */
        if
        :: inOrder && slot[s].psn == FINAL_PSN(c, n) -> releaseSlot(s) /* MR-3.3-7 */
        :: else -> expireSlot(s)
        fi
    :: else
    fi
}

/* MR-3.1-2 */
inline done() {
    assert(inUse + resting + len(freeSlots) == SLOTS);
    c = 0; n = 0; s = 0; t = 0
}

proctype Target() {
    byte c, n, s, t, i, j, r;
    for (s : 0 .. SLOTS - 1) { freeSlots!s }
    s = 0;
end:
    do
    :: atomic {
        select (c : 0 .. CONNECTIONS - 1); select (n : 1 .. NONCES);
        if
        :: REQUEST_COMES(c, n) -> d_step { onRequest(); done() }
        :: DATA_COMES(c, n) -> d_step { onData(); done() }
        :: RELEASE_COMES(c, n) -> d_step { onRelease(true); done() }
        :: GIVE_BACK_COMES(c, n) -> d_step { onRelease(false); done() }
        :: else -> d_step { done() }
        fi
    }
    :: d_step { nempty(line) && nempty(freeSlots) -> serve(); done() }
    /* A waiter that was not heard for long: MR-3.5-10. */
    :: d_step { nempty(line) -> line?c, n; done() }
    :: atomic {
        select (s : 0 .. SLOTS - 1);
        if
        /* Silence, an unused grant, RECLAIM not followed: MR-3.3-4, MR-3.3-5, MR-3.5-8. */
        :: slot[s].state == HELD -> d_step { expireSlot(s); done() }
        /* MR-3.1-6, MR-3.1-7, MR-3.1-8 */
        :: slot[s].state == QUARANTINED || slot[s].state == HALF_USED ->
            d_step { endRest(s); done() }
        :: slot[s].state == FREE -> d_step { done() }
        fi
    }
    od
}

#define L lease[me]

/* RESET (MR-3.2-9), a RELEASE that was answered or was sent in vain (MR-3.3-2, MR-3.3-10). */
inline loseLease() {
    if
    :: L.state == OPEN -> leave(DATA, me, L.nonce)
    :: L.state == RELEASING
    fi;
    L.state = IDLE; L.acked = 0
}

proctype Initiator(byte me) {
    byte n, j;
end:
    do
    :: d_step { /* MR-3.4-7 */
        L.state == IDLE && L.nonce < NONCES && lease[0].nonce + lease[1].nonce < REQUESTS ->
        L.nonce++;
        L.state = REQUESTED
    }
    :: d_step { /* MR-3.4-6 */
        L.state == REQUESTED && GRANT_COMES(me, L.nonce) ->
        L.state = OPEN
    }
    :: d_step { /* DENY: MR-3.4-2, MR-3.4-12 */
        L.state == REQUESTED && IS_USED(me, L.nonce) && !(IS_KNOWN(me, L.nonce)) ->
        L.state = IDLE
    }
    :: atomic {
        L.state == OPEN && !L.acked -> select (n : 1 .. NONCES);
        if
        :: ACK_COMES(me, n) && THINKS(me, TOKEN(me, n)) ->
            d_step {
                assert(L.nonce == n); /* no stale acknowledgement */
                L.acked = 1;
                leave(DATA, me, n);
                n = 0
            }
        :: else -> n = 0
        fi
    }
    :: d_step {
        L.state == OPEN && MAY_RELEASE(me) ->
        assert(FINAL_PSN(me, L.nonce) == 0 || accepted[me] == L.nonce);
        L.state = RELEASING;
        released[me] = released[me] | BIT(L.nonce)
    }
    :: d_step { HAS_LEASE(me) -> loseLease() }
    od
}

init {
    atomic {
        run Target(); run Initiator(0); run Initiator(1)
    }
}
