package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;

/**
 * Priority flow control (802.1Qbb) of the lossless classes. A switch counts for each link and class
 * what came in and has not left. First comes a reserve, then the shared buffer up to a dynamic
 * threshold; beyond it the sender is told to stop, and what still comes goes to the headroom. It
 * may go on when the headroom is empty and the shared part is {@code resumeBytes} below the
 * threshold. Pause frames overtake packets that wait, are never lost on a wire, and hold until they
 * are taken back.
 *
 * @param reserveBytes of each link and lossless class
 * @param headroomBytes of each link and lossless class; 0: what its link needs
 * @param resumeBytes the hysteresis
 * @param checked false: headroom may be too small, to see what happens
 */
public record Pfc(
        int reserveBytes,
        int headroomBytes,
        int resumeBytes,
        long stuckAfterPs,
        boolean drainStuck,
        boolean checked)
        implements FlowControl {
    /** On the wire, with preamble and gap. */
    static final int FRAME_BYTES = 84;

    private static final double BIT_PS_PER_SECOND = 8e12;

    public Pfc {
        if (reserveBytes < 0 || headroomBytes < 0 || resumeBytes < 0 || stuckAfterPs < 0) {
            throw new ConfigException(
                    "PFC: reserve %d, headroom %d, resume %d, stuck after %d must not be negative"
                            .formatted(reserveBytes, headroomBytes, resumeBytes, stuckAfterPs));
        }
    }

    public static Pfc defaults() {
        return new Pfc(4 << 10, 0, 3 << 10, 1_000_000_000L, false, true);
    }

    public Pfc withHeadroom(int bytes) {
        return new Pfc(reserveBytes, bytes, resumeBytes, stuckAfterPs, drainStuck, checked);
    }

    /** Headroom is taken as given, enough or not. */
    public Pfc unchecked() {
        return new Pfc(reserveBytes, headroomBytes, resumeBytes, stuckAfterPs, drainStuck, false);
    }

    /** The watchdog drains ports that are paused for so long. */
    public Pfc withWatchdog(long afterPs) {
        return new Pfc(reserveBytes, headroomBytes, resumeBytes, afterPs, true, checked);
    }

    /**
     * What may still come over a link after its receiver found that the sender must stop: the
     * packet that made it so; what is sent while the frame waits for a packet and other frames of
     * the way back, takes its own time and both ways of the cable; and the packet that the sender
     * had just begun.
     */
    static long neededHeadroom(
            long rate, long rateBack, long delayPs, int mtuBytes, int losslessClasses) {
        double backBytes = mtuBytes + 2.0 * losslessClasses * FRAME_BYTES;
        double untilHeardPs = 2.0 * delayPs + backBytes * BIT_PS_PER_SECOND / rateBack;
        return 2L * mtuBytes + (long) Math.ceil(untilHeardPs * rate / BIT_PS_PER_SECOND);
    }
}
