package dev.metaroce.memory;

/** Rights on a memory region, as flags to be combined with {@code |}. */
public final class Access {
    /** The owner's own device may write here: receives and the replies to reads. */
    public static final int LOCAL_WRITE = 1;

    /** Peers may WRITE here. */
    public static final int REMOTE_WRITE = 2;

    /** Peers may READ from here. */
    public static final int REMOTE_READ = 4;

    /** Peers may run atomic operations here. */
    public static final int REMOTE_ATOMIC = 8;

    /** Every right that exists. */
    public static final int ALL = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

    /** The rights that let bytes of the region change. */
    static final int ANY_WRITE = LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC;

    private static final String[] NAMES = {
        "LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC"
    };

    private Access() {}

    /** The names of the set flags joined by {@code |}, or {@code LOCAL_READ} when none is set. */
    public static String describe(int access) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < NAMES.length; i++) {
            if ((access & (1 << i)) != 0) {
                text.append(text.isEmpty() ? "" : "|").append(NAMES[i]);
            }
        }
        int unknown = access & ~ALL;
        if (unknown != 0) {
            text.append(text.isEmpty() ? "0x" : "|0x").append(Integer.toHexString(unknown));
        }
        return text.isEmpty() ? "LOCAL_READ" : text.toString();
    }
}
