package dev.metaroce.transport;

/** Life of a connection as applications see it. */
public enum ConnectionState {
    /** The first lease is being asked for. */
    CONNECTING,
    /** The peer accepted; leases come and go by themselves. */
    OPEN,
    /** Closed by us; posted work is being finished. */
    CLOSING,
    /** Ended in order, by either side. */
    CLOSED,
    /** Ended by an error; see {@code Connection.failure()}. */
    FAILED
}
