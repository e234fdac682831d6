package dev.metaroce.rocev2;

import dev.metaroce.congestion.Dcqcn;
import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.congestion.Pacer;

/**
 * How fast a queue pair may send, requests and READ responses together, as congestion notices of
 * its other end say. Owner: the engine thread.
 */
final class FlowRate {
    /** Full packets that may leave at once. */
    private static final int BURST_PACKETS = 2;

    private final Dcqcn rate;
    private final Pacer pacer;

    FlowRate(DcqcnSettings settings, long lineBitsPerSecond, int mtu) {
        rate = new Dcqcn(settings, lineBitsPerSecond);
        pacer = new Pacer(BURST_PACKETS * mtu);
    }

    long bitsPerSecond() {
        return rate.rateBitsPerSecond();
    }

    /** When the next packet may go: {@code nowNs} itself, or a later time. */
    long nextSendNs(long nowNs) {
        return rate.isAtLineRate() ? nowNs : pacer.nextSendNs(nowNs);
    }

    void onSent(long nowNs, int bytes) {
        if (!rate.isAtLineRate()) {
            pacer.onSent(nowNs, bytes, rate.rateBitsPerSecond());
            rate.onSent(bytes);
        }
    }

    /** A congestion notice came. */
    void onNotice(long nowNs) {
        rate.onCnp(nowNs);
        pacer.onRate(nowNs, rate.rateBitsPerSecond());
    }

    /** The time came that {@link #deadlineNs} said. */
    void onTimer(long nowNs) {
        rate.onTimer(nowNs);
        pacer.onRate(nowNs, rate.rateBitsPerSecond());
    }

    /** When the rate rises next; Long.MAX_VALUE for never. */
    long deadlineNs() {
        return rate.isAtLineRate() ? Long.MAX_VALUE : rate.deadlineNs();
    }
}
