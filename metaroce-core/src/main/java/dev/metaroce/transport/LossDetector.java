package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

/**
 * Finds lost packets. A path keeps its order, so a packet is lost when one that was sent after it,
 * on the same path, has arrived; the path's guard asks for a few more where a path proved to
 * reorder. A request that waits for a reply is lost, too, when a later one on that path has its
 * own. Returns facts, sends nothing.
 */
final class LossDetector {
    /** Whether one packet is lost, by what became known of another or of a time. */
    private interface Judgement {
        boolean isLost(TxPath path, int psn, int known);
    }

    private static final Judgement OVERTAKEN = (path, psn, none) -> path.isOvertaken(psn);
    private static final Judgement OLDER = TxPath::isOlderThan;
    private static final Judgement UNANSWERED = TxPath::isUnanswered;
    private static final Judgement UNANSWERED_AT = TxPath::isUnansweredAt;

    private LossDetector() {}

    /**
     * Packets that did not arrive.
     *
     * @param found receives a bit for PSN una + i at bit i
     * @return number of lost packets
     */
    static int overtaken(TxPath path, long[] found) {
        //= MR-4.3-10
        return find(path, OVERTAKEN, 0, found);
    }

    /** Packets that did not arrive, as something tells that was sent at {@code echoTime}. */
    static int olderThan(TxPath path, int echoTime, long[] found) {
        return find(path, OLDER, echoTime, found);
    }

    /** The same of the oldest packet alone, by who does not know what came behind it. */
    static int oldestOlderThan(TxPath path, int echoTime, long[] found) {
        return find(path, OLDER, echoTime, Math.min(1, outstanding(path)), found);
    }

    /** Requests whose replies are lost, as the reply to {@code replied} tells. */
    static int unanswered(TxPath path, int replied, long[] found) {
        return find(path, UNANSWERED, replied, found);
    }

    /** Requests whose replies are lost, as the answer to a probe of that time tells. */
    static int unansweredAt(TxPath path, int echoTime, long[] found) {
        return find(path, UNANSWERED_AT, echoTime, found);
    }

    private static int outstanding(TxPath path) {
        return path.nextPsn() - path.una();
    }

    private static int find(TxPath path, Judgement judgement, int known, long[] found) {
        return find(path, judgement, known, outstanding(path), found);
    }

    private static int find(
            TxPath path, Judgement judgement, int known, int packets, long[] found) {
        WindowBitmap.clear(found, 0);
        int count = 0;
        for (int i = 0; i < packets; i++) {
            if (judgement.isLost(path, path.una() + i, known)) {
                WindowBitmap.set(found, 0, i);
                count++;
            }
        }
        return count;
    }
}
