package dev.metaroce.event;

/** What a device counts. Names are the ones printed by tools; all counters only grow. */
public enum CounterId {
    RX_PACKETS("datagrams received"),
    RX_BYTES("bytes received in datagrams"),
    TX_PACKETS("datagrams sent"),
    TX_BYTES("bytes sent in datagrams"),
    DATA_SENT("DATA packets sent for the first time"),
    DATA_RESENT("DATA packets sent again"),
    RESENT_BYTES("payload bytes sent again"),
    SKIPS_SENT("SKIP packets sent in place of abandoned messages"),
    DATA_ACCEPTED("DATA packets accepted and placed"),
    PAYLOAD_BYTES("payload bytes accepted"),
    DUPLICATES("DATA packets received again"),
    READS_DEFERRED("READ and atomic requests that came before their turn"),
    REPLIES_SENT("replies to READs and atomics sent"),
    REPLY_BYTES("payload bytes of these replies"),
    REPLIES_RECEIVED("replies to READs and atomics accepted and placed"),
    ATOMICS_EXECUTED("atomic operations executed for peers"),
    OUT_OF_ORDER("DATA packets that arrived ahead of a gap in their path"),
    OUT_OF_WINDOW("DATA packets outside the receive window of their path"),
    OUT_OF_SEQUENCE("DATA packets refused by Go-Back-N (profile S)"),
    ACKS_SENT("ACK packets sent"),
    ACKS_RECEIVED("ACK packets received"),
    ACKS_STALE("ACK, NAK or control packets for no lease of ours, or with absurd numbers"),
    NAKS_SENT("NAK packets sent"),
    NAKS_RECEIVED("NAK packets received"),
    SEQUENCE_NAKS_SENT("of the NAKs sent, those of RoCEv2 that tell of a gap"),
    SEQUENCE_NAKS_RECEIVED("of the NAKs received, those of RoCEv2 that tell of a gap"),
    RNR_NAKS_SENT("RoCEv2 answers that no receive is posted"),
    RNR_NAKS_RECEIVED("RoCEv2 answers that the peer has no receive posted"),
    CNPS_SENT("RoCEv2 congestion notices sent"),
    CNPS_RECEIVED("RoCEv2 congestion notices received"),
    PROBES_SENT("tail probes sent"),
    RTO_FIRED("retransmission time-outs"),
    REROUTES("paths moved to another source port"),
    LOSSES_DETECTED("packets found lost by acknowledgement"),
    SPURIOUS_RESENDS("packets sent again although the first copy arrived"),
    CE_PACKETS("DATA packets received with ECN congestion mark"),
    NOT_ECT_PACKETS("DATA packets received without ECN: cleared on the way, or never set"),
    MALFORMED("datagrams too short, of unknown kind or with fields that contradict each other"),
    BAD_VERSION("datagrams of another protocol version"),
    BAD_CRC("datagrams with a wrong CRC"),
    ICRC_ERRORS("RoCEv2 packets with a wrong ICRC"),
    BAD_PKEY("RoCEv2 packets of another partition"),
    UNKNOWN_QP("RoCEv2 packets for a queue pair that is not there, or not connected"),
    STALE_CONTEXT("packets for a context id that is free or has another epoch"),
    WRONG_SOURCE("packets for a context from another host than its holder"),
    ACCESS_REFUSED("requests refused for key, bounds, rights or domain"),
    EARLY_SENT("messages sent along with a CID request, repetitions included"),
    EARLY_ACCEPTED("messages executed out of a CID request"),
    SHARED_RECEIVES("receives that messages took from shared receive queues"),
    RECEIVER_NOT_READY("SEND packets that found no posted receive"),
    REQUESTS_SENT("CID requests sent"),
    REQUESTS_RECEIVED("CID requests received"),
    GRANTS("context ids granted"),
    QUEUED("CID requests put into the waiting line"),
    DENIED("CID requests denied"),
    RELEASES("context ids given back by their holder"),
    RECLAIMS("holders asked to give their context id back"),
    GRANT_UNUSED("grants taken back because no data came"),
    EXPIRED("context ids taken from silent holders"),
    RETIRED("context ids taken from an earlier incarnation of a peer"),
    RESETS_SENT("RESET packets sent"),
    RESETS_RECEIVED("RESET packets received"),
    KEEPALIVES_SENT("KEEPALIVE packets sent"),
    CONTROL_DROPPED("control answers dropped because the outbox was full"),
    CONNECTIONS_FAILED("connections that ended in an error"),
    PAUSES("times this endpoint stood still for half a second or more: process stopped, starved");

    private final String meaning;

    CounterId(String meaning) {
        this.meaning = meaning;
    }

    /** One line of documentation. */
    public String meaning() {
        return meaning;
    }
}
