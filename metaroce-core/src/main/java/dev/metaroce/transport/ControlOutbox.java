package dev.metaroce.transport;

import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * Control messages waiting to be sent: a bounded ring of descriptions, encoded when a batch has
 * room. When it is full the newest message is dropped; every control message is asked for again by
 * the side that misses it.
 */
final class ControlOutbox {
    /** Largest control packet that can wait here. */
    static final int MAX_PACKET_BYTES = ControlMessage.bytes(ControlOpcode.REQUEST);

    private static final int SLOTS = 1024;
    private static final int MASK = SLOTS - 1;

    private final ControlOpcode[] opcode = new ControlOpcode[SLOTS];
    private final NetAddress[] destination = new NetAddress[SLOTS];
    private final @Nullable TransportConnection[] connection = new TransportConnection[SLOTS];
    private final int[] ctx = new int[SLOTS];
    private final long[] nonce = new long[SLOTS];
    private final int[] token = new int[SLOTS];
    private final int[] code = new int[SLOTS];
    private final long[] value = new long[SLOTS];
    private int head;
    private int size;

    /**
     * @param about the connection a REQUEST, RELEASE or DISCONNECT is encoded from, else null
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
        if (size == SLOTS) {
            return false;
        }
        int at = (head + size) & MASK;
        opcode[at] = message;
        destination[at] = to;
        connection[at] = about;
        ctx[at] = toCtx;
        nonce[at] = withNonce;
        token[at] = leaseToken;
        code[at] = reasonCode;
        value[at] = number;
        size++;
        return true;
    }

    boolean isEmpty() {
        return size == 0;
    }

    void pop() {
        connection[head] = null;
        head = (head + 1) & MASK;
        size--;
    }

    ControlOpcode opcode() {
        return opcode[head];
    }

    NetAddress destination() {
        return destination[head];
    }

    @Nullable TransportConnection connection() {
        return connection[head];
    }

    int ctx() {
        return ctx[head];
    }

    long nonce() {
        return nonce[head];
    }

    int token() {
        return token[head];
    }

    int code() {
        return code[head];
    }

    long value() {
        return value[head];
    }
}
