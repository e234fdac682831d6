package dev.metaroce.congestion;

import java.util.function.IntFunction;

/** Which window law the paths of a device follow. */
public enum CongestionAlgorithm {
    /** {@link EcnAimd}: marks cut, after DCTCP. */
    ECN_AIMD(EcnAimd::new),
    /** {@link Nscc}: marks and delay, as Ultra Ethernet does it. */
    NSCC(Nscc::new);

    private final IntFunction<CongestionControl> law;

    CongestionAlgorithm(IntFunction<CongestionControl> law) {
        this.law = law;
    }

    /**
     * The law for one path.
     *
     * @param maxPackets largest window, 1..65536
     */
    public CongestionControl create(int maxPackets) {
        return law.apply(maxPackets);
    }
}
