package dev.metaroce.congestion;

/** Which window law the paths of a device follow. */
public enum CongestionAlgorithm {
    /** {@link EcnAimd}: marks cut, after DCTCP. */
    ECN_AIMD
}
