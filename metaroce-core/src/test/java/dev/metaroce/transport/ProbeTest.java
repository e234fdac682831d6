package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Questions after a silence, and their answers. */
class ProbeTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    /**
     * The way suddenly takes twenty times as long, and the packet of a message is lost. Probes go
     * out faster than their answers come back: each answer is to a probe that is not the latest.
     */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void answersToEarlierProbesCount(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).maxPaths(1).build(), 1, 1 << 16).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 15);
        pair.expectSends(1, SECOND);
        pair.lab.latencyNs(10 * MS);
        pair.lab.addFault(
                packet -> {
                    boolean first =
                            RawPacket.isData(packet.bytes)
                                    && (RawPacket.flags(packet.bytes) & Flags.RETX) == 0;
                    return first ? 0 : 1;
                });
        long start = pair.lab.nowNs();
        pair.write(0, 2, 1 << 15, 1 << 15);
        pair.expectSends(2, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.lab.nowNs() - start).isLessThan(80 * MS);
        assertThat(pair.client.count(CounterId.PROBES_SENT)).isLessThan(15);
    }
}
