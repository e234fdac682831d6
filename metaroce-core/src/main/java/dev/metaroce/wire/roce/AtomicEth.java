package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/**
 * Atomic extended header, 28 bytes behind the BTH of an atomic request: address 64 bits, R_Key 32,
 * value to swap in or to add 64, value to compare with 64.
 */
public final class AtomicEth {
    /** Bytes of this header. */
    public static final int BYTES = 28;

    private static final int VA_AT = Bth.BYTES;
    private static final int RKEY_AT = VA_AT + 8;
    private static final int SWAP_OR_ADD_AT = VA_AT + 12;
    private static final int COMPARE_AT = VA_AT + 20;

    private AtomicEth() {}

    /** Address of the 64-bit value at the responder. */
    public static long va(PacketMemory m, int at) {
        return m.i64(at + VA_AT);
    }

    /** Key of the region. */
    public static int rkey(PacketMemory m, int at) {
        return m.i32(at + RKEY_AT);
    }

    /** CMP_SWAP: the value to store; FETCH_ADD: the value to add. */
    public static long swapOrAdd(PacketMemory m, int at) {
        return m.i64(at + SWAP_OR_ADD_AT);
    }

    /** CMP_SWAP: the value that must be there; of no meaning in FETCH_ADD. */
    public static long compare(PacketMemory m, int at) {
        return m.i64(at + COMPARE_AT);
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(
            PacketMemory m, int at, long va, int rkey, long swapOrAdd, long compare) {
        m.put64(at + VA_AT, va);
        m.put32(at + RKEY_AT, rkey);
        m.put64(at + SWAP_OR_ADD_AT, swapOrAdd);
        m.put64(at + COMPARE_AT, compare);
    }
}
