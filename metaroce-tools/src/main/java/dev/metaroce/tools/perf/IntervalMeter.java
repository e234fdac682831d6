package dev.metaroce.tools.perf;

import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Cuts a row of a bandwidth test into intervals and tells each one when it is over, the last one
 * when the row ends. Asked in every turn of the test's loop, so that a turn without an end costs a
 * comparison. One thread.
 */
final class IntervalMeter {
    private final long periodNs;
    private final long messageBytes;
    private final LongSupplier resentPackets;
    private final Consumer<Interval> listener;
    private long beginNs;
    private long startNs;
    private long startMessages;
    private long startResent;

    /**
     * @param resentPackets the device's count of packets sent again
     * @param listener hears of every interval
     */
    IntervalMeter(
            long periodNs,
            long messageBytes,
            LongSupplier resentPackets,
            Consumer<Interval> listener) {
        this.periodNs = periodNs;
        this.messageBytes = messageBytes;
        this.resentPackets = resentPackets;
        this.listener = listener;
    }

    void begin(long nowNs) {
        beginNs = nowNs;
        startNs = nowNs;
        startMessages = 0;
        startResent = resentPackets.getAsLong();
    }

    /** {@code messages} were completed since the beginning. */
    void onTurn(long nowNs, long messages) {
        if (nowNs - startNs >= periodNs) {
            close(nowNs, messages);
        }
    }

    /** The row is over; a rest that is no whole interval counts too. */
    void end(long nowNs, long messages) {
        if (messages > startMessages && nowNs > startNs) {
            close(nowNs, messages);
        }
    }

    private void close(long nowNs, long messages) {
        long resent = resentPackets.getAsLong();
        listener.accept(
                Interval.of(
                        startNs - beginNs,
                        nowNs - beginNs,
                        messages - startMessages,
                        messageBytes,
                        resent - startResent));
        startNs = nowNs;
        startMessages = messages;
        startResent = resent;
    }
}
