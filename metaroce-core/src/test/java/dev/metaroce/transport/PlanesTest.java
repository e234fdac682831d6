package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Endpoints with several addresses, and planes that die and come back. */
class PlanesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int WRITE_BYTES = 1 << 16;

    private static Pair pair(int clientPlanes, int serverPlanes) {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(8).lingerNs(5 * MS).build();
        Pair pair = Pair.overPlanes(11, limits, clientPlanes, serverPlanes, 128 * WRITE_BYTES);
        pair.lab.link(10_000_000_000L, MS / 10, 20 * MS);
        // Nobody routes from plane to plane.
        if (clientPlanes == serverPlanes) {
            pair.lab.addFault(p -> Lab.planeOf(p.source) == Lab.planeOf(p.destination) ? 1 : 0);
        }
        return pair;
    }

    private static Pair connected(int clientPlanes, int serverPlanes) {
        return pair(clientPlanes, serverPlanes).connect();
    }

    private static void kill(Pair pair, int plane) {
        pair.lab.addFault(p -> Lab.planeOf(p.destination) == plane ? 0 : 1);
    }

    private static void write(Pair pair, int from, int count) {
        for (int i = from; i < from + count; i++) {
            pair.write(0, i, (long) (i % 128) * WRITE_BYTES, WRITE_BYTES);
        }
        pair.expectSends(from + count, SECOND);
    }

    /** DATA packets of the client by plane. */
    private static long[] countData(Pair pair) {
        long[] counts = new long[8];
        pair.lab.addFault(
                p -> {
                    if (p.from == pair.client && RawPacket.isData(p.bytes)) {
                        counts[Lab.planeOf(p.source) | Lab.planeOf(p.destination)]++;
                    }
                    return 1;
                });
        return counts;
    }

    // MR-3.10-1
    // MR-3.10-4
    @ParameterizedTest
    @CsvSource({"2, 2", "4, 4", "8, 8", "1, 2", "2, 1"})
    void pathsAreSpreadOverAllPlanes(int clientPlanes, int serverPlanes) {
        Pair pair = connected(clientPlanes, serverPlanes);
        long[] counts = countData(pair);
        pair.clientEnd.fill(pair.lab.rng("data"));

        write(pair, 0, 128);

        for (int plane = 0; plane < Math.max(clientPlanes, serverPlanes); plane++) {
            assertThat(counts[plane]).as("plane %d", plane).isPositive();
        }
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        assertThat(pair.server.count(CounterId.WRONG_SOURCE)).isZero();
    }

    // MR-3.10-2
    @Test
    void aGrantIsNoLongerThanItsRequest() {
        Pair pair = pair(1, 8);
        int[] longest = new int[2];
        pair.lab.addFault(
                p -> {
                    int side = p.from == pair.client ? 0 : 1;
                    longest[side] = Math.max(longest[side], p.bytes.length);
                    return 1;
                });

        pair.connect();

        assertThat(longest[0]).isEqualTo(ControlMessage.REQUEST_BYTES);
        assertThat(longest[1]).isLessThanOrEqualTo(longest[0]);
    }

    // MR-4.3-22
    // MR-3.10-6
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void aPlaneThatDiesIsLeftAndUsedAgainWhenItIsBack(int dead) {
        Pair pair = connected(4, 4);
        write(pair, 0, 64);
        boolean[] down = {true};
        pair.lab.addFault(p -> down[0] && Lab.planeOf(p.destination) == dead ? 0 : 1);
        write(pair, 64, 64);
        // Both paths of that plane find another one at once.
        assertThat(pair.client.count(CounterId.REROUTES)).isEqualTo(2);
        write(pair, 128, 512);
        assertThat(pair.client.count(CounterId.REROUTES)).isEqualTo(2);
        down[0] = false;
        for (int i = 640; i < 4096; i += 256) {
            write(pair, i, 256);
        }

        // And back.
        assertThat(pair.client.count(CounterId.REROUTES)).isEqualTo(4);
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    // MR-3.10-5
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void noDataGoesToAnAddressThatNeverAnswered(int dead) {
        Pair pair = pair(4, 4);
        long[] counts = countData(pair);
        kill(pair, dead);
        pair.connect();

        write(pair, 0, 64);

        assertThat(counts[dead]).isZero();
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
    }

    // MR-3.10-7
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void leasesComeAndGoWhileAPlaneIsDead(int dead) {
        Pair pair = connected(2, 2);
        write(pair, 0, 8);
        kill(pair, dead);
        for (int i = 1; i < 8; i++) {
            pair.expectNoContexts(SECOND);
            long startNs = pair.lab.nowNs();
            write(pair, 8 * i, 8);
            assertThat(pair.lab.nowNs() - startNs).isLessThan(100 * MS);
        }
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    @Test
    @DisplayName("the side that accepted uses all planes too")
    void theAcceptorSpreadsItsPaths() {
        Pair pair = connected(4, 4);
        long[] counts = new long[4];
        pair.lab.addFault(
                p -> {
                    if (p.from == pair.server && RawPacket.isData(p.bytes)) {
                        counts[Lab.planeOf(p.destination)]++;
                    }
                    return 1;
                });
        for (int i = 0; i < 64; i++) {
            QueuePair qp = pair.serverEnd.qp();
            long offset = (long) i * WRITE_BYTES;
            Pair.must(
                    i,
                    qp.postWrite(
                            i,
                            pair.serverEnd.region,
                            offset,
                            WRITE_BYTES,
                            pair.clientEnd.region.address() + offset,
                            pair.clientEnd.region.rkey()));
        }
        pair.lab.expect(
                "all written",
                () -> {
                    pair.serverEnd.poll();
                    return pair.serverEnd.sends.size() == 64;
                },
                SECOND);

        assertThat(counts).doesNotContain(0L);
    }
}
