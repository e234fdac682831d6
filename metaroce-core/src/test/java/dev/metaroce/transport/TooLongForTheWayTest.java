package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.concurrent.atomic.AtomicInteger;

/** A link on the way carries less than both ends believe, and says nothing of it. */
class TooLongForTheWayTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long GIVE_UP_NS = DeviceLimits.defaults().giveUpNs();
    private static final int LINK_BYTES = 1400;
    private static final int MIB = 1 << 20;

    /** Both ends believe in 4096 bytes of payload; the way drops what is above 1400 in all. */
    private static Pair pair(long seed, Profile profile, int streams) {
        DeviceLimits limits = Profiles.only(profile).payloadMtu(4096).build();
        return new Pair(seed, limits, streams, MIB).connect();
    }

    private static Lab.Fault narrow() {
        return packet -> packet.bytes.length > LINK_BYTES ? 0 : 1;
    }

    private static String awaitFailure(Pair pair, long maxNs) {
        pair.lab.expect(
                "failed", () -> pair.clientEnd.connection.state() == ConnectionState.FAILED, maxNs);
        return pair.clientEnd.connection.failure();
    }

    @ParameterizedTest
    @CsvSource({"S, 5", "M, 5", "S, 2500", "M, 20000"})
    void aSizeThatNeverArrivesIsNamedWithTheLargestThatDid_E04(Profile profile, long latencyUs) {
        Pair pair = pair(1, profile, 1);
        pair.lab.latencyNs(latencyUs * 1_000);
        pair.lab.addFault(narrow());
        pair.write(0, 1, 0, 1000);
        pair.expectSends(1, SECOND);
        long startNs = pair.lab.nowNs();
        pair.write(0, 2, 0, MIB);

        assertThat(awaitFailure(pair, 5 * SECOND))
                .contains("packets of 4,148 bytes do not get through")
                .contains("those of up to 1,052 bytes do")
                .contains("--mtu");
        assertThat(pair.lab.nowNs() - startNs)
                .isBetween(GIVE_UP_NS / 2, GIVE_UP_NS / 2 + GIVE_UP_NS / 10);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.RETRY_EXCEEDED_ERROR);
    }

    /** With few answers in the time there is, there is no proof; but still an end, and the size. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void onALongWayTheOrdinaryTimeIsNeeded_E04(Profile profile) {
        Pair pair = pair(1, profile, 1);
        pair.lab.latencyNs(150 * MS);
        pair.lab.addFault(narrow());
        pair.write(0, 1, 0, MIB);

        assertThat(awaitFailure(pair, 5 * SECOND))
                .contains("a packet of 4,148 bytes does not get through");
    }

    /** A busy connection looks healthy: its small messages all arrive. */
    @Test
    void smallMessagesThatArriveDoNotHideTheOthers_E04() {
        Pair pair = pair(1, Profile.M, 2);
        pair.lab.addFault(narrow());
        pair.write(0, 1, 0, 4096);
        for (int i = 0; i < 500 && pair.clientEnd.connection.failure().isEmpty(); i++) {
            pair.write(1, 2, 8192, 1200);
            pair.lab.advance(10 * MS);
            pair.clientEnd.poll();
        }

        assertThat(pair.clientEnd.connection.failure())
                .contains("packets of 4,148 bytes do not get through")
                .contains("those of up to 1,252 bytes do");
    }

    /** With random loss on top, which hits the small packets too. */
    @Seeded(cases = 10)
    void aNarrowLinkIsFoundThroughLoss_E04(long seed) {
        Pair pair = pair(seed, Profile.M, 1);
        Rng rng = new Rng(seed);
        pair.lab.addFault(packet -> rng.chance(0.2) ? 0 : 1);
        pair.lab.addFault(narrow());
        pair.write(0, 1, 0, MIB);

        assertThat(awaitFailure(pair, 5 * SECOND)).contains("though those of up to");
    }

    /** A way that loses nine packets of ten, long and short ones alike, is only bad. */
    @Seeded(cases = 20)
    void heavyLossIsNotTakenForANarrowLink_E04(long seed) {
        Rng rng = new Rng(seed);
        Profile profile = rng.chance(0.5) ? Profile.M : Profile.S;
        boolean bothWays = rng.chance(0.5);
        Pair pair = pair(seed, profile, 1);
        pair.lab.addFault(
                packet -> (bothWays || packet.from == pair.client) && rng.chance(0.9) ? 0 : 1);
        pair.write(0, 1, 0, MIB);
        pair.lab.advance(20 * SECOND);

        assertThat(pair.clientEnd.connection.failure()).doesNotContain("though those of up to");
    }

    /** A refused packet arrived. One refusal is enough to know it, though all others get lost. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aReceiverThatIsNotReadyIsNotTakenForANarrowLink_E04(Profile profile) {
        Pair pair = pair(1, profile, 1);
        AtomicInteger refusals = new AtomicInteger();
        pair.lab.addFault(
                packet -> {
                    boolean refusal =
                            RawPacket.is(packet.bytes, PacketType.NAK)
                                    && RawPacket.opcode(packet.bytes)
                                            == NakCode.RECEIVER_NOT_READY.code();
                    return refusal && refusals.getAndIncrement() > 0 ? 0 : 1;
                });
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.send(0, 1, 0, MIB);
        pair.lab.advance(GIVE_UP_NS * 3 / 4);
        assertThat(pair.clientEnd.connection.failure()).isEmpty();
        pair.receive(0, 2, 0, MIB);
        pair.expectSends(1, 5 * SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** Before the time is over, one long packet that arrives is enough to go on. */
    @Test
    void aWayThatBecameWiderIsUsedAgain_E04() {
        Pair pair = pair(1, Profile.M, 1);
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(narrow());
        pair.write(0, 1, 0, MIB);
        pair.lab.advance(GIVE_UP_NS / 2 - 100 * MS);
        pair.lab.heal();
        pair.expectSends(1, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }
}
