package dev.metaroce.event;

/**
 * Facts an engine reports. The three numbers of an event mean what is written at its constant;
 * "peer" is the UDP port of the other side.
 */
public enum EventId {
    /** Initiator sent REQUEST: connection, nonce, attempt. */
    LEASE_REQUESTED,
    /** Initiator got QUEUED: connection, position, expected wait in us. */
    LEASE_QUEUED,
    /** Initiator got GRANT: connection, cid, epoch. */
    LEASE_OPENED,
    /** Initiator got DENY: connection, reason code, retry-after in us. */
    LEASE_DENIED,
    /** Initiator stops new work to give the lease back: connection, cid, epoch. */
    LEASE_DRAINING,
    /** Initiator's release was acknowledged: connection, cid, epoch. */
    LEASE_RELEASED,
    /** Initiator lost the lease: connection, cid, reason code. */
    LEASE_LOST,
    /** Target granted: peer, cid, epoch. */
    CID_GRANTED,
    /** Target put a request into the line: peer, position, 0. */
    CID_QUEUED,
    /** Target refused: peer, reason code, 0. */
    CID_DENIED,
    /** Target saw the first data of a grant: peer, cid, epoch. */
    CID_ACTIVE,
    /** Target asked for the context back: peer, cid, epoch. */
    CID_RECLAIMING,
    /** Target got the context back, also when its connection ended: peer, cid, epoch. */
    CID_RELEASED,
    /** Target took the context by time-out or restart: peer, cid, epoch. */
    CID_EXPIRED,
    /** Packet found lost: path, PSN, 0. */
    PACKET_LOST,
    /** Path moved to another source port: path, old route, new route. */
    PATH_REROUTED,
    /** Path is silent while others are heard: route, 0, 0. */
    PATH_BAD,
    /** Path that was silent answered: route, 0, 0. */
    PATH_GOOD,
    /** The first DATA packet of a connection came without ECN: peer, 0, 0. */
    ECN_MISSING,
    /** Work request ended: stream, wrId, status ordinal. */
    WORK_COMPLETED,
    /** Connection failed: connection, reason ordinal, 0. */
    CONNECTION_FAILED,
    /** The driver came late, because its process was stopped or starved: milliseconds, 0, 0. */
    PAUSED
}
