package dev.metaroce.rocev2;

/**
 * States of a queue pair, as verbs name them; those of draining (SQD) and of unconnected services
 * (SQE) have no use here.
 */
public enum QpState {
    /** Ended: it is known to nobody and its number is free. */
    RESET,
    /** Made: receives may be posted, the other end is unknown. */
    INIT,
    /** Ready to receive: the other end is known, but does not know yet that we agreed. */
    RTR,
    /** Ready to send: connected. */
    RTS,
    /** Failed: all work is flushed and all packets are refused. */
    ERROR
}
