package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** The end of what is sent, on a way that lost something lately. */
class TailProbeTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long ROUND_TRIP_NS = 4 * MS;
    private static final int BYTES = 8 << 10;
    private static final int PACKETS = 8;

    private final Pair pair;
    private int messages;

    TailProbeTest() {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(1).payloadMtu(1024).build();
        pair = new Pair(1, limits, 1, 1 << 16);
        pair.lab.latencyNs(ROUND_TRIP_NS / 2);
        pair.connect();
    }

    /** Writes a message whose packet of this number is lost when it is sent first. */
    private long tookNs(int lost) {
        int[] seen = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean first =
                            RawPacket.isData(packet.bytes)
                                    && (RawPacket.flags(packet.bytes) & Flags.RETX) == 0;
                    return first && seen[0]++ == lost ? 0 : 1;
                });
        long start = pair.lab.nowNs();
        pair.write(0, messages, 0, BYTES);
        pair.expectSends(++messages, SECOND);
        pair.lab.heal();
        return pair.lab.nowNs() - start;
    }

    @Test
    @DisplayName("MR-4.3-12: after a loss a lost tail costs one round trip more, and no time-out")
    void aLostTailCostsARoundTripAfterALoss() {
        long clean = tookNs(-1);
        assertThat(pair.client.count(CounterId.PROBES_SENT)).isZero();
        long unprepared = tookNs(PACKETS - 1);
        long prepared = tookNs(PACKETS - 1);

        assertThat(unprepared).isGreaterThan(clean + 2 * ROUND_TRIP_NS);
        assertThat(prepared).isBetween(clean, clean + ROUND_TRIP_NS * 11 / 10);
        assertThat(pair.client.count(CounterId.RTO_FIRED)).isZero();
    }

    @Test
    @DisplayName("MR-4.3-12: probes behind the last packet end when nothing gets lost")
    void probesEndWhenNothingGetsLost() {
        tookNs(PACKETS - 1);
        for (int i = 0; i < 4096 / PACKETS; i++) {
            tookNs(-1);
        }
        long before = pair.client.count(CounterId.PROBES_SENT);
        for (int i = 0; i < 10; i++) {
            tookNs(-1);
        }

        assertThat(before).isGreaterThan(100);
        assertThat(pair.client.count(CounterId.PROBES_SENT)).isEqualTo(before);
    }

    @Test
    @DisplayName("MR-4.3-13: after a loss the tail is probed four times at the same pace")
    void theTailIsProbedFourTimesAfterALoss() {
        tookNs(PACKETS - 1);
        List<Long> probedNs = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, PacketType.PROBE)) {
                        probedNs.add(pair.lab.nowNs());
                    }
                    return 0;
                });
        pair.write(0, messages, 0, BYTES);
        pair.lab.advance(5 * 3 * ROUND_TRIP_NS);

        assertThat(probedNs).hasSizeGreaterThanOrEqualTo(5);
        long pace = probedNs.get(2) - probedNs.get(1);
        assertThat(pace).isBetween(2 * ROUND_TRIP_NS, 3 * ROUND_TRIP_NS);
        assertThat(probedNs.get(3) - probedNs.get(2)).isEqualTo(pace);
        assertThat(probedNs.get(4) - probedNs.get(3)).isEqualTo(pace);
    }
}
