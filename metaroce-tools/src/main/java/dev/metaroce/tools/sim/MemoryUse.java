package dev.metaroce.tools.sim;

/**
 * @param endpointBytes of an endpoint that does nothing, with its link
 * @param peakBytes most that the process ever had
 */
record MemoryUse(long endpointBytes, long peakBytes) {}
