package dev.metaroce.wire.roce;

/** UDP ports of RoCEv2 (docs/rocev2.md, section 1). */
public final class RoceUdp {
    /** Destination port of every packet. */
    public static final int PORT = 4_791;

    /** Smallest source port that stands for a flow label. */
    public static final int FIRST_SOURCE_PORT = 0xC000;

    private static final int LABEL_BITS = 20;
    private static final int LABEL = (1 << LABEL_BITS) - 1;
    private static final int PORT_BITS = 14;

    private RoceUdp() {}

    /** Source port, 49152..65535, of a flow label of 20 bits. */
    public static int sourcePort(int flowLabel) {
        int folded = flowLabel ^ ((flowLabel & LABEL) >>> PORT_BITS);
        return FIRST_SOURCE_PORT | (folded & ((1 << PORT_BITS) - 1));
    }

    /** Flow label of a connection for which none was chosen, from its two queue pair numbers. */
    public static int flowLabel(int localQp, int remoteQp) {
        long product = (long) localQp * remoteQp;
        product ^= product >>> LABEL_BITS;
        product ^= product >>> (2 * LABEL_BITS);
        return (int) product & LABEL;
    }
}
