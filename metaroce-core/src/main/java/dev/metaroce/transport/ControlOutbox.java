package dev.metaroce.transport;

import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * Control messages waiting to be sent: a bounded ring of descriptions, encoded when a batch has
 * room. When it is full the newest message is dropped; every control message is asked for again by
 * the side that misses it. Memory comes with use. Owner: the engine thread.
 */
final class ControlOutbox {
    /** Largest control packet that can wait here. */
    static final int MAX_PACKET_BYTES = ControlMessage.bytes(ControlOpcode.REQUEST);

    private static final int MOST_SLOTS = 1024;
    private static final int FIRST_SLOTS = 4;

    /** One message; used again and again. */
    private static final class Slot {
        private ControlOpcode opcode;
        private NetAddress destination;
        private @Nullable TransportConnection connection;
        private int ctx;
        private long nonce;
        private int token;
        private int code;
        private long value;

        private Slot(ControlOpcode opcode, NetAddress destination) {
            this.opcode = opcode;
            this.destination = destination;
        }
    }

    // The length is a power of two, or 0 as long as nothing was sent.
    private Slot[] ring = {};
    private int head;
    private int size;

    /**
     * @param about the connection a REQUEST, RELEASE, DISCONNECT or a rejecting DENY is encoded
     *     from, else null
     * @param leaseToken CID and epoch the message is about, or 0
     * @param reasonCode reason code, or 0
     * @param number retry-after, deadline, position, or 0
     * @return false when the ring is full
     */
    boolean offer(
            ControlOpcode message,
            NetAddress to,
            @Nullable TransportConnection about,
            int toCtx,
            long withNonce,
            int leaseToken,
            int reasonCode,
            long number) {
        //= MR-6-3
        if (size == MOST_SLOTS) {
            return false;
        }
        if (size == ring.length) {
            grow(message, to);
        }
        Slot slot = ring[(head + size) & (ring.length - 1)];
        slot.opcode = message;
        slot.destination = to;
        slot.connection = about;
        slot.ctx = toCtx;
        slot.nonce = withNonce;
        slot.token = leaseToken;
        slot.code = reasonCode;
        slot.value = number;
        size++;
        return true;
    }

    private void grow(ControlOpcode message, NetAddress to) {
        Slot[] old = ring;
        ring = new Slot[Math.max(FIRST_SLOTS, old.length * 2)];
        for (int i = 0; i < ring.length; i++) {
            boolean kept = i < old.length;
            ring[i] = kept ? old[(head + i) & (old.length - 1)] : new Slot(message, to);
        }
        head = 0;
    }

    boolean isEmpty() {
        return size == 0;
    }

    void pop() {
        ring[head].connection = null;
        head = (head + 1) & (ring.length - 1);
        size--;
    }

    ControlOpcode opcode() {
        return ring[head].opcode;
    }

    NetAddress destination() {
        return ring[head].destination;
    }

    @Nullable TransportConnection connection() {
        return ring[head].connection;
    }

    int ctx() {
        return ring[head].ctx;
    }

    long nonce() {
        return ring[head].nonce;
    }

    int token() {
        return ring[head].token;
    }

    int code() {
        return ring[head].code;
    }

    long value() {
        return ring[head].value;
    }
}
