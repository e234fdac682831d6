package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** Work requests that fail, and what becomes of those before and after them. */
class FailedRequestTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int WRITE_BYTES = 20_000;

    private static Pair pair(Profile profile, int streams) {
        Pair pair = new Pair(8, Profiles.only(profile).build(), streams, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    private static void write(Pair pair, int number, boolean badKey, boolean signaled) {
        long at = (long) number * WRITE_BYTES;
        Pair.must(
                number,
                pair.clientEnd
                        .qp()
                        .postWrite(
                                number,
                                pair.clientEnd.region,
                                at,
                                WRITE_BYTES,
                                pair.serverEnd.region.address() + at,
                                pair.serverEnd.region.rkey() + (badKey ? 1 : 0),
                                signaled));
    }

    private static List<String> outcomes(List<WorkCompletion> completions) {
        List<String> outcomes = new ArrayList<>();
        completions.forEach(wc -> outcomes.add(wc.wrId() + " " + wc.status()));
        return outcomes;
    }

    @ParameterizedTest
    @CsvSource({"S,0", "M,0", "S,0.3", "M,0.3"})
    @DisplayName(
            "A08: requests before the refused one succeed, those after it are flushed, in order")
    void a08OutcomesComeInPostOrder(Profile profile, double loss) {
        Pair pair = pair(profile, 1);
        Rng chance = new Rng(88);
        pair.lab.addFault(packet -> chance.chance(loss) ? 0 : 1);
        for (int i = 1; i <= 10; i++) {
            write(pair, i, i == 4, i == 2 || i == 7 || i == 10);
        }
        pair.lab.advance(2 * SECOND);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends))
                .containsExactly(
                        "2 SUCCESS",
                        "4 REMOTE_ACCESS_ERROR",
                        "5 WR_FLUSH_ERROR",
                        "6 WR_FLUSH_ERROR",
                        "7 WR_FLUSH_ERROR",
                        "8 WR_FLUSH_ERROR",
                        "9 WR_FLUSH_ERROR",
                        "10 WR_FLUSH_ERROR");
        assertThat(pair.clientEnd.qp().inError()).isTrue();
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(WRITE_BYTES, 3L * WRITE_BYTES)
                                .mismatch(
                                        pair.serverEnd
                                                .region
                                                .segment()
                                                .asSlice(WRITE_BYTES, 3L * WRITE_BYTES)))
                .isEqualTo(-1);
    }

    /** Every packet of the second message is lost for a while. */
    private static void loseSecondMessage(Pair pair, long forNs) {
        long until = pair.lab.nowNs() + forNs;
        pair.lab.addFault(
                packet -> {
                    boolean second =
                            RawPacket.isData(packet.bytes)
                                    && packet.bytes.length > 40
                                    && RawPacket.msn(packet.bytes) == 1;
                    return second && pair.lab.nowNs() < until ? 0 : 1;
                });
    }

    /** The refusal of the fourth comes while the second is still on its way for 100 ms. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void anEarlierRequestIsFinishedFirstHoweverLongItTakes(Profile profile) {
        Pair pair = pair(profile, 1);
        loseSecondMessage(pair, 100 * MS);
        for (int i = 1; i <= 6; i++) {
            write(pair, i, i == 4 || i == 6, true);
        }
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends))
                .containsExactly(
                        "1 SUCCESS",
                        "2 SUCCESS",
                        "3 SUCCESS",
                        "4 REMOTE_ACCESS_ERROR",
                        "5 WR_FLUSH_ERROR",
                        "6 WR_FLUSH_ERROR");
        pair.expectNoContexts(SECOND);
    }

    /** Of two refused requests the earlier one is named, though the later refusal came first. */
    @Test
    void theFirstOfTwoRefusedRequestsIsTheOneThatFailed() {
        Pair pair = pair(Profile.M, 1);
        loseSecondMessage(pair, 50 * MS);
        for (int i = 1; i <= 4; i++) {
            write(pair, i, i == 2 || i == 4, true);
        }
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends))
                .containsExactly(
                        "1 SUCCESS",
                        "2 REMOTE_ACCESS_ERROR",
                        "3 WR_FLUSH_ERROR",
                        "4 WR_FLUSH_ERROR");
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void otherStreamsGoOnAfterOneFailed(Profile profile) {
        Pair pair = pair(profile, 3);
        for (int round = 0; round < 5; round++) {
            pair.write(1, round, 100_000L * round, 100_000);
            pair.write(2, round, 500_000L + 100_000L * round, 100_000);
        }
        write(pair, 1, true, true);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends)).contains("1 REMOTE_ACCESS_ERROR");
        assertThat(pair.clientEnd.sends)
                .filteredOn(wc -> wc.owner() != pair.clientEnd.qp())
                .hasSize(10)
                .allMatch(wc -> wc.status() == WcStatus.SUCCESS);
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(0, 1_000_000)
                                .mismatch(pair.serverEnd.region.segment().asSlice(0, 1_000_000)))
                .isEqualTo(-1);
        pair.write(1, 9, 0, 4096);
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.getLast().status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(pair.clientEnd.sends).hasSize(12);
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aClosedLocalRegionFailsItsRequestAndNoOther(Profile profile) {
        Pair pair = pair(profile, 2);
        MemoryRegion gone = pair.clientEnd.domain.register(Arena.ofAuto().allocate(1 << 16, 8), 0);
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postWrite(
                                1,
                                gone,
                                0,
                                1 << 16,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey()));
        gone.close();
        pair.write(1, 2, 1 << 17, 1 << 17);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends))
                .containsExactlyInAnyOrder("1 LOCAL_PROTECTION_ERROR", "2 SUCCESS");
        pair.expectNoContexts(SECOND);
    }

    @Test
    void whatIsPostedToAFailedQueuePairIsFlushed() {
        Pair pair = pair(Profile.M, 1);
        for (int i = 0; i < 3; i++) {
            Pair.must(i, pair.clientEnd.qp().postReceive(i));
        }
        write(pair, 1, true, true);
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();
        assertThat(outcomes(pair.clientEnd.receives))
                .containsExactly("0 WR_FLUSH_ERROR", "1 WR_FLUSH_ERROR", "2 WR_FLUSH_ERROR");

        write(pair, 2, false, false);
        Pair.must(3, pair.clientEnd.qp().postReceive(3));
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();
        Pair.must(4, pair.clientEnd.qp().postReceive(4, pair.clientEnd.region, 0, 8));
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();

        assertThat(outcomes(pair.clientEnd.sends))
                .containsExactly("1 REMOTE_ACCESS_ERROR", "2 WR_FLUSH_ERROR");
        assertThat(outcomes(pair.clientEnd.receives))
                .endsWith("3 WR_FLUSH_ERROR", "4 WR_FLUSH_ERROR");
    }

    /**
     * Two streams of the server fail in one turn, each with a send of its own on the way. What was
     * flushed is not sent again, as its memory belongs to the application.
     */
    @Test
    void nothingIsSentForFlushedRequests() {
        Pair pair = pair(Profile.M, 2);
        pair.lab.coalesceNs(MS);
        for (int stream = 0; stream < 2; stream++) {
            pair.receive(stream, 1, 0, 4);
            Pair.must(
                    2, pair.serverEnd.pairs.get(stream).postSend(2, pair.serverEnd.region, 0, 100));
        }
        // The client has no receive: the server tries again every few milliseconds.
        pair.lab.advance(50 * MS);
        int[] late = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean data =
                            packet.from == pair.server
                                    && RawPacket.isData(packet.bytes)
                                    && RawPacket.opcode(packet.bytes) != Opcode.SKIP.code();
                    late[0] += data && pair.serverEnd.sendQueue.size() == 2 ? 1 : 0;
                    return 1;
                });
        pair.send(0, 3, 0, 8);
        pair.send(1, 3, 0, 8);
        pair.lab.advance(500 * MS);

        assertThat(late[0]).isZero();
        pair.serverEnd.poll();
        assertThat(outcomes(pair.serverEnd.sends))
                .containsExactly("2 WR_FLUSH_ERROR", "2 WR_FLUSH_ERROR");
    }
}
