package dev.metaroce.congestion;

/** Which window law the paths of a device follow. */
public enum CongestionAlgorithm {
    /** {@link EcnAimd}: marks cut, after DCTCP. */
    ECN_AIMD,
    /** {@link Nscc}: marks and delay, as Ultra Ethernet does it. */
    NSCC;

    /**
     * The law for one path.
     *
     * @param maxPackets largest window, 1..65536
     */
    public CongestionControl create(int maxPackets) {
        return switch (this) {
            case ECN_AIMD -> new EcnAimd(maxPackets);
            case NSCC -> new Nscc(maxPackets);
        };
    }
}
