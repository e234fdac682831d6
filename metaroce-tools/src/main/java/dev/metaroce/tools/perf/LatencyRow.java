package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;

import tools.jackson.databind.node.ObjectNode;

import java.util.List;

/**
 * Result of one message size of a latency test: in microseconds, half round trips of a ping-pong,
 * whole times of READs and atomics.
 *
 * @param iterations round trips measured
 * @param tTypicalUs the median
 * @param percentiles those that were asked for, each with its time
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
        double tP999Us,
        List<Point> percentiles) {

    /** A percentile and its time in microseconds. */
    record Point(Percentile percentile, double us) {}

    /** The order that these figures must have, whatever was measured. */
    boolean addsUp() {
        return tMinUs <= tTypicalUs
                && tTypicalUs <= tP99Us
                && tP99Us <= tP999Us
                && tP999Us <= tMaxUs
                && tMinUs <= tAvgUs
                && tAvgUs <= tMaxUs;
    }

    /** One key per figure; the percentiles are keys like the others. */
    ObjectNode document() {
        ObjectNode document = Json.tree(this);
        document.remove("percentiles");
        putAll(document, "t_", percentiles);
        return document;
    }

    /** Adds {@code prefix + "p99_us"} and so on. */
    static void putAll(ObjectNode document, String prefix, List<Point> points) {
        for (Point point : points) {
            document.set(
                    prefix + point.percentile().key() + "_us",
                    Json.COMPACT.valueToTree(point.us()));
        }
    }
}
