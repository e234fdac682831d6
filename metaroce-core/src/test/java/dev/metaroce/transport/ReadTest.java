package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** RDMA READ: bytes come, whatever the network does. */
class ReadTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("a READ brings the bytes of the peer")
    void readsBytes(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, 1 << 20).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 20);
        reader.read(0, 7, 0, 1 << 20);
        WorkCompletion done = reader.next();

        assertThat(done.status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(done.opcode()).isEqualTo(WcOpcode.READ);
        assertThat(done.byteLength()).isEqualTo(1 << 20);
        assertThat(reader.mismatch(1 << 20)).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.REPLY_BYTES)).isEqualTo(1 << 20);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @CsvSource({"M,0.01", "M,0.1", "S,0.01", "S,0.1"})
    @DisplayName("READs come whole under loss both ways")
    void readsUnderLoss(Profile profile, double loss) {
        Pair pair = new Pair(3, Profiles.only(profile).build(), 1, 4 << 20).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 4 << 20);
        Rng chance = pair.lab.rng("loss");
        pair.lab.addFault(packet -> chance.chance(loss) ? 0 : 1);
        for (int i = 0; i < 16; i++) {
            reader.read(0, i, i * (4L << 20) / 16, (4 << 20) / 16);
        }
        pair.expectSends(16, 20 * SECOND);

        assertThat(reader.mismatch(4 << 20)).isEqualTo(-1);
        double needed = pair.client.count(CounterId.DATA_SENT);
        double again = pair.client.count(CounterId.DATA_RESENT);
        if (profile == Profile.M) {
            assertThat(again / needed).isLessThan(3 * loss);
        }
    }

    @Seeded(cases = 60)
    void readsAmongOthersWithLossCopiesAndDelays(long seed) {
        Rng rng = new Rng(seed);
        Profile profile = rng.chance(0.3) ? Profile.S : Profile.M;
        int streams = 1 + rng.nextInt(3);
        Pair pair =
                new Pair(
                        seed,
                        Profiles.only(profile)
                                .payloadMtu(256 << rng.nextInt(5))
                                .maxReads(1 + rng.nextInt(64))
                                .receiveWindowBytes(rng.chance(0.5) ? 0 : 20_000)
                                .build(),
                        streams,
                        1 << 20);
        pair.connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 20);
        double loss = rng.chance(0.5) ? 0.05 : 0;
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += rng.chance(0.2) ? rng.nextInt(200_000) : 0;
                    return rng.chance(loss) ? 0 : rng.chance(0.05) ? 2 : 1;
                });
        int posted = 0;
        for (int i = 0; i < 40; i++) {
            long length = rng.nextInt(1 << rng.nextInt(16));
            long offset = rng.nextInt((1 << 19) - 65_536);
            int stream = rng.nextInt(streams);
            switch (rng.nextInt(3)) {
                case 0 -> pair.write(stream, posted++, (1 << 19) + offset, length);
                case 1 -> reader.read(stream, posted++, offset, length);
                default -> {
                    pair.receive(stream, 1000 + posted, (1 << 19), 65_536);
                    pair.send(stream, posted++, 0, length);
                }
            }
        }
        pair.expectSends(posted, 60 * SECOND);
        pair.expectNoContexts(5 * SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("the longest READ: 2^31 bytes")
    void longestRead(Profile profile) {
        long longest = 1L << 31;
        DeviceLimits limits = Profiles.only(profile).payloadMtu(65_408).build();
        Pair pair = Pair.ofVirtual(5, limits, 1, longest, true).connect();
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postRead(
                                1,
                                pair.clientEnd.region,
                                0,
                                longest,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey()));
        pair.expectSends(1, 100 * SECOND);

        assertThat(pair.clientEnd.sends.get(0).byteLength()).isEqualTo(longest);
        assertThat(pair.server.count(CounterId.REPLY_BYTES)).isEqualTo(longest);
    }
}
