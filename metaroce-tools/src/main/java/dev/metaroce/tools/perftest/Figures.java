package dev.metaroce.tools.perftest;

import java.nio.ByteBuffer;

/**
 * What a client of perftest measured, as it tells the server at the end of a test: five messages of
 * {@value #PART_BYTES} bytes, most significant first.
 *
 * @param messageBytes size of the messages
 * @param iterations messages of all queue pairs together
 * @param peak bandwidth in MiB/s
 * @param average bandwidth in MiB/s
 * @param messageRate in millions per second
 */
public record Figures(
        long messageBytes, long iterations, double peak, double average, double messageRate) {
    static final int PARTS = 5;
    static final int PART_BYTES = 8;

    private static final double MIB = 1 << 20;

    /** The figures of a test that took so long; the peak is taken for the average. */
    public static Figures of(long messageBytes, long iterations, double seconds) {
        double rate = iterations / seconds;
        double average = rate * messageBytes / MIB;
        return new Figures(messageBytes, iterations, average, average, rate / 1e6);
    }

    /** All messages, one behind the other. */
    byte[] encode() {
        return ByteBuffer.allocate(PARTS * PART_BYTES)
                .putLong(messageBytes)
                .putLong(iterations)
                .putDouble(peak)
                .putDouble(average)
                .putDouble(messageRate)
                .array();
    }

    static Figures decode(byte[] parts) {
        ByteBuffer in = ByteBuffer.wrap(parts);
        return new Figures(
                in.getLong(), in.getLong(), in.getDouble(), in.getDouble(), in.getDouble());
    }
}
