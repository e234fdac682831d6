package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

/**
 * Finds lost packets. A path keeps its order, so a packet is lost when one that was sent after it,
 * on the same path, has arrived; the path's guard asks for a few more where a path proved to
 * reorder. A request that waits for a reply is lost, too, when a later one on that path has its
 * own. Returns facts, sends nothing.
 */
final class LossDetector {
    private LossDetector() {}

    /**
     * Packets that did not arrive.
     *
     * @param found receives a bit for PSN una + i at bit i
     * @return number of lost packets
     */
    static int overtaken(TxPath path, long[] found) {
        //= MR-4.3-10
        WindowBitmap.clear(found, 0);
        int count = 0;
        int outstanding = path.nextPsn() - path.una();
        for (int i = 0; i < outstanding; i++) {
            count += note(path.isOvertaken(path.una() + i), i, found);
        }
        return count;
    }

    /** Packets that did not arrive, as something tells that was sent at {@code echoTime}. */
    static int olderThan(TxPath path, int echoTime, long[] found) {
        WindowBitmap.clear(found, 0);
        int count = 0;
        int outstanding = path.nextPsn() - path.una();
        for (int i = 0; i < outstanding; i++) {
            count += note(path.isOlderThan(path.una() + i, echoTime), i, found);
        }
        return count;
    }

    /** The same of the oldest packet alone, by who does not know what came behind it. */
    static int oldestOlderThan(TxPath path, int echoTime, long[] found) {
        WindowBitmap.clear(found, 0);
        boolean any = path.nextPsn() != path.una();
        return note(any && path.isOlderThan(path.una(), echoTime), 0, found);
    }

    /** Requests whose replies are lost, as the reply to {@code replied} tells. */
    static int unanswered(TxPath path, int replied, long[] found) {
        WindowBitmap.clear(found, 0);
        int count = 0;
        int outstanding = path.nextPsn() - path.una();
        for (int i = 0; i < outstanding; i++) {
            count += note(path.isUnanswered(path.una() + i, replied), i, found);
        }
        return count;
    }

    /** Requests whose replies are lost, as the answer to a probe of that time tells. */
    static int unansweredAt(TxPath path, int echoTime, long[] found) {
        WindowBitmap.clear(found, 0);
        int count = 0;
        int outstanding = path.nextPsn() - path.una();
        for (int i = 0; i < outstanding; i++) {
            count += note(path.isUnansweredAt(path.una() + i, echoTime), i, found);
        }
        return count;
    }

    private static int note(boolean lost, int bit, long[] found) {
        if (lost) {
            WindowBitmap.set(found, 0, bit);
        }
        return lost ? 1 : 0;
    }
}
