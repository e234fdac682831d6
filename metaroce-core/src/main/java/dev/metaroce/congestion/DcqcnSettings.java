package dev.metaroce.congestion;

/**
 * Constants of {@link Dcqcn}.
 *
 * @param gain g, how much of the newest news goes into alpha, in (0, 1]
 * @param alphaTimerNs alpha decays once per such time without a CNP, 1 or more
 * @param cutIntervalNs CNPs that come sooner after a cut are one with it, 0 or more
 * @param timerNs T, the rate rises once per such time, 1 or more
 * @param counterBytes B, the rate rises once per so many bytes sent, too; 0: by time alone
 * @param recoverySteps F, rises that only lead back to the rate before the cut, 0 or more
 * @param additiveBitsPerSecond R_AI, what the next rises add, 1 or more
 * @param hyperBitsPerSecond R_HAI, what those after them add, 1 or more
 * @param minBitsPerSecond R_min, no cut goes below it, 1 or more
 */
public record DcqcnSettings(
        double gain,
        long alphaTimerNs,
        long cutIntervalNs,
        long timerNs,
        long counterBytes,
        int recoverySteps,
        long additiveBitsPerSecond,
        long hyperBitsPerSecond,
        long minBitsPerSecond) {
    private static final long US = 1_000;
    private static final long MEGABIT = 1_000_000;

    /**
     * @throws IllegalArgumentException when a constant is out of range
     */
    public DcqcnSettings {
        if (!(gain > 0 && gain <= 1)) {
            throw new IllegalArgumentException(
                    "DcqcnSettings: gain " + gain + " is not above 0 and up to 1");
        }
        require("alphaTimerNs", alphaTimerNs, 1);
        require("cutIntervalNs", cutIntervalNs, 0);
        require("timerNs", timerNs, 1);
        require("counterBytes", counterBytes, 0);
        require("recoverySteps", recoverySteps, 0);
        require("additiveBitsPerSecond", additiveBitsPerSecond, 1);
        require("hyperBitsPerSecond", hyperBitsPerSecond, 1);
        require("minBitsPerSecond", minBitsPerSecond, 1);
    }

    private static void require(String name, long value, long least) {
        if (value < least) {
            throw new IllegalArgumentException(
                    "DcqcnSettings: %s %d is below %d".formatted(name, value, least));
        }
    }

    /**
     * Those of the public reference model, the ns-3 simulator of HPCC's authors: T 1500 us, no byte
     * counter, F 5, R_AI 5 Mb/s, R_HAI 50 Mb/s, R_min 100 Mb/s, g 1/256.
     */
    public static DcqcnSettings reference() {
        return new DcqcnSettings(
                1.0 / 256,
                55 * US,
                4 * US,
                1_500 * US,
                0,
                5,
                5 * MEGABIT,
                50 * MEGABIT,
                100 * MEGABIT);
    }

    /**
     * Those of the paper (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
     * SIGCOMM 2015, section 5.2), found for 40 Gb/s: T 55 us, B 10 MB, F 5, R_AI 40 Mb/s, g 1/256.
     * It gives neither R_HAI nor R_min: they are ten times R_AI, and those of {@link #reference}.
     */
    public static DcqcnSettings published() {
        return new DcqcnSettings(
                1.0 / 256,
                55 * US,
                4 * US,
                55 * US,
                10_000_000,
                5,
                40 * MEGABIT,
                400 * MEGABIT,
                100 * MEGABIT);
    }
}
