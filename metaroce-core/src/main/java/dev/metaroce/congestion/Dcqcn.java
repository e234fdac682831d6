package dev.metaroce.congestion;

import dev.metaroce.util.Invariant;

/**
 * The rate of one RoCEv2 flow by DCQCN, at its reaction point; see docs/rocev2.md, and Zhu et al.,
 * SIGCOMM 2015. Switches mark packets, the receiver answers marks with congestion notification
 * packets (CNPs), and each CNP cuts.
 *
 * <p><b>Cut.</b> {@code R_T = R_C}, {@code R_C *= 1 - alpha / 2}, then {@code alpha += (1 - alpha)
 * g}. The first CNP finds alpha = 1 and cuts to half. Alpha loses its part g with each alpha timer
 * that passes without a CNP.
 *
 * <p><b>Rise.</b> Once per timer, and per so many bytes sent if there is a byte counter; both start
 * anew at a cut. The rises of the timer and those of the counter are counted apart. While neither
 * had F, R_T stays (fast recovery); once both had more than F, R_T grows by R_HAI (hyper increase);
 * else by R_AI (additive increase). Then {@code R_C = (R_C + R_T) / 2}. Without a byte counter the
 * timer alone decides, as in the reference model: one rise is additive, those after it hyper.
 *
 * <p>At the rate of the line nothing rises, and {@link #isAtLineRate} spares the timer.
 *
 * <p>Owned by the engine thread; allocates nothing after construction. Rates are whole bits per
 * second; times are compared by difference.
 *
 * <pre>{@code
 * if (!dcqcn.isAtLineRate() && dcqcn.deadlineNs() - nowNs <= 0) {
 *     dcqcn.onTimer(nowNs);
 * }
 * pacer.onSent(nowNs, bytes, dcqcn.rateBitsPerSecond());
 * dcqcn.onSent(bytes);
 * }</pre>
 */
public final class Dcqcn {
    private final DcqcnSettings settings;

    private long lineBitsPerSecond;
    private long rate;
    private long target;
    private boolean everCut;
    private long lastCutNs;

    /** As it was at {@link #alphaNs}. */
    private double alpha;

    private long alphaNs;
    private long deadlineNs;
    private long sentBytes;
    private int timerRises;
    private int counterRises;

    /**
     * A flow that begins at the rate of the line.
     *
     * @param lineBitsPerSecond R_min of the settings or more
     */
    public Dcqcn(DcqcnSettings settings, long lineBitsPerSecond) {
        this.settings = settings;
        reset(lineBitsPerSecond);
    }

    /**
     * Starts over, at the rate of the line.
     *
     * @param bitsPerSecond R_min of the settings or more
     */
    public void reset(long bitsPerSecond) {
        Invariant.check(
                bitsPerSecond >= settings.minBitsPerSecond(),
                "a line has the least rate at least",
                bitsPerSecond,
                settings.minBitsPerSecond());
        lineBitsPerSecond = bitsPerSecond;
        rate = bitsPerSecond;
        target = bitsPerSecond;
        alpha = 1;
        everCut = false;
    }

    /** A CNP for this flow arrived. */
    public void onCnp(long nowNs) {
        if (everCut && nowNs - lastCutNs < settings.cutIntervalNs()) {
            return;
        }
        double now = alpha(nowNs);
        target = rate;
        rate = Math.max(settings.minBitsPerSecond(), (long) (rate * (1 - now / 2)));
        alpha = Math.min(1, now + (1 - now) * settings.gain());
        alphaNs = nowNs;
        lastCutNs = nowNs;
        everCut = true;
        deadlineNs = nowNs + settings.timerNs();
        sentBytes = 0;
        timerRises = 0;
        counterRises = 0;
    }

    /**
     * So much was sent.
     *
     * @param bytes 0 or more
     */
    public void onSent(int bytes) {
        long every = settings.counterBytes();
        if (every == 0 || isAtLineRate()) {
            return;
        }
        sentBytes += bytes;
        if (sentBytes >= every) {
            sentBytes %= every;
            rise();
            counterRises++;
        }
    }

    /**
     * The deadline may have passed: then the rate rises, once. A call that comes more than a timer
     * late makes up for nothing.
     */
    public void onTimer(long nowNs) {
        if (isAtLineRate() || deadlineNs - nowNs > 0) {
            return;
        }
        rise();
        timerRises++;
        long next = deadlineNs + settings.timerNs();
        deadlineNs = next - nowNs > 0 ? next : nowNs + settings.timerNs();
    }

    private void rise() {
        int byCounter = settings.counterBytes() == 0 ? timerRises : counterRises;
        int steps = settings.recoverySteps();
        if (Math.min(timerRises, byCounter) > steps) {
            target += settings.hyperBitsPerSecond();
        } else if (Math.max(timerRises, byCounter) >= steps) {
            target += settings.additiveBitsPerSecond();
        }
        target = Math.min(target, lineBitsPerSecond);
        // Rounded up, so that it gets there.
        rate = (rate + target + 1) / 2;
    }

    /** True while there is nothing to rise to: no timer is needed. */
    public boolean isAtLineRate() {
        return rate == lineBitsPerSecond;
    }

    /** When {@link #onTimer} is due. Means nothing at the rate of the line. */
    public long deadlineNs() {
        return deadlineNs;
    }

    /** R_C, what the flow may send now. */
    public long rateBitsPerSecond() {
        return rate;
    }

    /** How congested the way is thought to be: above 0, up to 1. */
    public double alpha(long nowNs) {
        if (!everCut) {
            return alpha;
        }
        long decays = (nowNs - alphaNs) / settings.alphaTimerNs();
        return Math.max(Double.MIN_NORMAL, alpha * power(1 - settings.gain(), decays));
    }

    private static double power(double base, long exponent) {
        double result = 1;
        double square = base;
        for (long left = exponent; left > 0; left >>= 1) {
            if ((left & 1) != 0) {
                result *= square;
            }
            square *= square;
        }
        return result;
    }
}
