package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;

import org.junit.jupiter.api.Test;

/** READs of an endpoint to which others write. */
class ReadPaceTest {
    private static final long MS = 1_000_000;
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;

    private static DeviceLimits.Builder limits(long inboundRate) {
        return DeviceLimits.defaults().toBuilder()
                .payloadMtu(4096)
                .inboundRateBitsPerSecond(inboundRate);
    }

    private static Pair pair(DeviceLimits limits) {
        Pair pair = new Pair(1, limits, 1, MIB).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    /** The server writes to the client. */
    private static void writeBack(Pair pair, int writes, int bytes) {
        long to = pair.clientEnd.region.address();
        int key = pair.clientEnd.region.rkey();
        for (int i = 0; i < writes; i++) {
            Pair.must(
                    i, pair.serverEnd.qp().postWrite(i, pair.serverEnd.region, 0, bytes, to, key));
        }
    }

    private static void expectWrites(Pair pair, int writes) {
        pair.lab.expect(
                "the writes of the server",
                () -> {
                    pair.serverEnd.poll();
                    return pair.serverEnd.sends.size() == writes;
                },
                100 * MS);
    }

    /** The share falls to next to nothing: a READ waits for its turn and asks for no more. */
    private static void readBehindSend(Pair pair, Reader reader, int writes) {
        writeBack(pair, writes, MIB);
        pair.send(0, 1, 0, 1);
        reader.read(0, 2, 0, KIB);
        pair.lab.advance(5 * MS);
        pair.receive(0, 1, 0, 1);
        pair.expectSends(2, 20 * MS);
    }

    //= MR-5.8-1, MR-5.8-4
    @Test
    void whoWasKeptBackGoesOnWithTheNewShare() {
        Pair pair = pair(limits(10_000_000_000L).build());
        Reader reader = new Reader(pair, MIB);
        readBehindSend(pair, reader, 16);
        reader.read(0, 3, 0, 256 * KIB);
        pair.expectSends(3, 20 * MS);

        assertThat(reader.mismatch(256 * KIB)).isEqualTo(-1);
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.sends).as("the server writes all the time").hasSizeLessThan(16);
    }

    /** With the share that is left from before, each request but the first waits for a reply. */
    //= MR-5.8-1
    @Test
    void whoWaitsForAReplyAsksForAShareWhenItCame() {
        Pair pair = pair(limits(10_000_000_000L).maxReads(1).build());
        Reader reader = new Reader(pair, MIB);
        readBehindSend(pair, reader, 5);
        expectWrites(pair, 5);
        reader.read(0, 3, 0, 256 * KIB);
        pair.expectSends(3, 20 * MS);
    }

    /**
     * The first of them was kept back, and done before shares were worked out. Of the others, none
     * is on its way when the pace keeps the next one back.
     */
    //= MR-5.8-1
    @Test
    void whoReadsOneByOneCountsAsAReader() {
        Pair pair = pair(limits(10_000_000_000L).build());
        Reader reader = new Reader(pair, MIB);
        readBehindSend(pair, reader, 5);
        expectWrites(pair, 5);
        reader.read(0, 3, 0, 8 * KIB);
        pair.expectSends(3, MS);
        pair.lab.advance(3 * MS);
        for (int i = 4; i < 36; i++) {
            reader.read(0, i, 0, 4 * KIB);
            pair.expectSends(i, 10 * MS);
        }
    }

    /** Small writes make shares be worked out several times between two requests. */
    //= MR-5.8-1
    @Test
    void whoWaitsForLongerThanAPeriodIsKeptBackStill() {
        Pair pair = pair(limits(10_000_000).build());
        Reader reader = new Reader(pair, MIB);
        writeBack(pair, 500, 256);
        reader.read(0, 1, 0, 128 * KIB);
        pair.expectSends(1, 300 * MS);
    }
}
