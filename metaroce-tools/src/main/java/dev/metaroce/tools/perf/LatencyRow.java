package dev.metaroce.tools.perf;

/**
 * Result of one message size of a latency test: half round trips in microseconds.
 *
 * @param iterations round trips measured
 * @param tTypicalUs the median
 */
record LatencyRow(
        long messageBytes,
        long iterations,
        double elapsedS,
        double tMinUs,
        double tMaxUs,
        double tTypicalUs,
        double tAvgUs,
        double tStdevUs,
        double tP99Us,
        double tP999Us) {

    /** The order that these figures must have, whatever was measured. */
    boolean addsUp() {
        return tMinUs <= tTypicalUs
                && tTypicalUs <= tP99Us
                && tP99Us <= tP999Us
                && tP999Us <= tMaxUs
                && tMinUs <= tAvgUs
                && tAvgUs <= tMaxUs;
    }
}
