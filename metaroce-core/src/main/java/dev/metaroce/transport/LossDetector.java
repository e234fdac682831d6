package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

/**
 * Finds lost packets. A path keeps its order, so a packet is lost when one that was sent after it,
 * on the same path, has arrived; the path's guard asks for a few more where a path proved to
 * reorder. Returns facts, sends nothing.
 */
final class LossDetector {
    private LossDetector() {}

    /**
     * @param found receives a bit for PSN una + i at bit i
     * @return number of lost packets
     */
    static int detect(TxPath path, long[] found) {
        WindowBitmap.clear(found, 0);
        int limit = path.deliveredOrder() - path.guardPackets();
        int count = 0;
        int una = path.una();
        int outstanding = path.nextPsn() - una;
        for (int i = 0; i < outstanding; i++) {
            int psn = una + i;
            if (path.status(psn) == TxPath.IN_FLIGHT && path.sentOrder(psn) - limit < 0) {
                WindowBitmap.set(found, 0, i);
                count++;
            }
        }
        return count;
    }
}
