package dev.metaroce.ring;

/** What kind of work request a completion belongs to (as {@code ibv_wc_opcode}). */
public enum WcOpcode {
    WRITE,
    SEND,
    /** Bytes of the peer were copied here. */
    READ,
    /** The old value is in the local memory of the request. */
    COMPARE_SWAP,
    /** The old value is in the local memory of the request. */
    FETCH_ADD,
    /** A receive consumed by a SEND. */
    RECEIVE,
    /** A receive consumed by a WRITE with immediate; the data went to the address of the WRITE. */
    RECEIVE_RDMA_WITH_IMMEDIATE
}
