package dev.metaroce.tools.demo;

import java.util.Map;

/**
 * Result of one transfer of the demo.
 *
 * @param elapsedS first WRITE posted to last one complete
 * @param goodputGbps file bytes over that time, in 10^9 bit/s
 * @param dataPackets DATA packets sent for the first time
 * @param retransmittedPackets DATA packets sent again
 * @param retransmittedPercent of all DATA packets sent
 * @param relayDroppedToReceiver packets the relay dropped on the way there
 * @param relayDroppedToSender the same on the way back
 * @param contextBytes size of the receive context that was used
 * @param sha256 as the receiver computed it from its memory
 */
record DemoRun(
        String profile,
        double elapsedS,
        double goodputGbps,
        int payloadMtu,
        int paths,
        long dataPackets,
        long retransmittedPackets,
        double retransmittedPercent,
        long relayDroppedToReceiver,
        long relayDroppedToSender,
        int contexts,
        int contextsPeak,
        int contextBytes,
        long contextTableBytes,
        String sha256,
        boolean sha256Equal,
        Map<String, Long> senderCounters,
        Map<String, Long> receiverCounters) {}
