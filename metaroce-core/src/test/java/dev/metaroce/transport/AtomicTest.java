package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Compare-and-swap and fetch-and-add: once each, whatever the network does. */
class AtomicTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.7-2, MR-4.7-3: old values come back in the byte order of the machine")
    void addsAndSwaps(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, 4096).connect();
        Reader reader = new Reader(pair, 4096);
        reader.remoteWord(64, 0x0102_0304_0506_0708L);

        reader.add(0, 1, 8, 64, 0x10);
        WorkCompletion added = reader.next();
        assertThat(added.status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(added.opcode()).isEqualTo(WcOpcode.FETCH_ADD);
        assertThat(added.byteLength()).isEqualTo(8);
        assertThat(reader.word(8)).isEqualTo(0x0102_0304_0506_0708L);
        assertThat(reader.remoteWord(64)).isEqualTo(0x0102_0304_0506_0718L);

        reader.swap(0, 2, 16, 64, 5, 6);
        WorkCompletion refused = reader.next();
        assertThat(refused.opcode()).isEqualTo(WcOpcode.COMPARE_SWAP);
        assertThat(reader.word(16)).isEqualTo(0x0102_0304_0506_0718L);
        assertThat(reader.remoteWord(64)).isEqualTo(0x0102_0304_0506_0718L);

        reader.swap(0, 3, 24, 64, 0x0102_0304_0506_0718L, -1);
        assertThat(reader.next().status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(reader.word(24)).isEqualTo(0x0102_0304_0506_0718L);
        assertThat(reader.remoteWord(64)).isEqualTo(-1);

        reader.add(0, 4, 32, 64, 3);
        assertThat(reader.next().status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(reader.remoteWord(64)).isEqualTo(2);
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @CsvSource({"M,1", "S,1", "M,8"})
    @DisplayName(
            "L04, MR-4.7-5: with 90 % of ACKs and half of the replies lost every add is done once")
    void l04AnswersLost(Profile profile, int paths) {
        Pair pair = new Pair(2, Profiles.only(profile).maxPaths(paths).build(), 1, 4096);
        pair.connect();
        Reader reader = new Reader(pair, 4096);
        Rng chance = pair.lab.rng("loss");
        pair.lab.addFault(
                packet -> {
                    boolean reply = RawPacket.isData(packet.bytes);
                    double loss = packet.from == pair.client ? 0 : reply ? 0.5 : 0.9;
                    return chance.chance(loss) ? 0 : 1;
                });

        expectSum(pair, reader, 200, 300);
        assertThat(pair.server.count(CounterId.ATOMICS_EXECUTED)).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource({"M,2", "S,2", "M,10", "S,10"})
    @DisplayName("L05, MR-4.7-5: with every packet copied every add is done once")
    void l05Copies(Profile profile, int copies) {
        Pair pair = new Pair(3, Profiles.only(profile).build(), 2, 4096).connect();
        Reader reader = new Reader(pair, 4096);
        pair.lab.addFault(packet -> copies);

        expectSum(pair, reader, 200, 30);
        assertThat(pair.server.count(CounterId.ATOMICS_EXECUTED)).isEqualTo(200);
    }

    /** Adds 1, 2, 3, ... to one word; the old values must be the sums, in post order. */
    private static void expectSum(Pair pair, Reader reader, int adds, int seconds) {
        reader.remoteWord(0, 0);
        for (int i = 0; i < adds; i++) {
            reader.add(0, i, 8L * i, 0, i + 1);
        }
        pair.expectSends(adds, seconds * SECOND);
        long sum = 0;
        for (int i = 0; i < adds; i++) {
            assertThat(reader.word(8L * i)).as("old value of add " + i).isEqualTo(sum);
            sum += i + 1;
        }
        assertThat(reader.remoteWord(0)).isEqualTo(sum);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.7-5: a copy of an old request changes nothing and is not answered")
    void lateCopiesDoNothing(Profile profile) {
        Pair pair = new Pair(4, Profiles.only(profile).maxPaths(1).build(), 1, 4096).connect();
        Reader reader = new Reader(pair, 4096);
        Lab.Packet[] kept = new Lab.Packet[1];
        pair.lab.addFault(
                packet -> {
                    boolean request = packet.from == pair.client && RawPacket.isData(packet.bytes);
                    if (request && kept[0] == null) {
                        kept[0] = pair.lab.copy(packet, packet.bytes.clone());
                    }
                    return 1;
                });
        reader.add(0, 1, 0, 0, 1);
        pair.expectSends(1, SECOND);
        reader.add(0, 2, 8, 0, 1);
        pair.expectSends(2, SECOND);
        long replies = pair.server.count(CounterId.REPLIES_SENT);

        pair.lab.inject(kept[0]);
        pair.lab.advance(MS);

        assertThat(pair.server.count(CounterId.DUPLICATES)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.REPLIES_SENT)).isEqualTo(replies);
        assertThat(reader.remoteWord(0)).isEqualTo(2);
    }

    @Seeded(cases = 40)
    void swapsMakeALock(long seed) {
        Rng rng = new Rng(seed);
        Profile profile = rng.chance(0.5) ? Profile.S : Profile.M;
        Pair pair = new Pair(seed, Profiles.only(profile).build(), 4, 4096).connect();
        Reader reader = new Reader(pair, 4096);
        double loss = rng.nextInt(3) * 0.05;
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += rng.chance(0.2) ? rng.nextInt(100_000) : 0;
                    return rng.chance(loss) ? 0 : rng.chance(0.1) ? 2 : 1;
                });
        int holder = -1;
        int turns = 0;
        boolean[] asked = new boolean[4];
        boolean[] gives = new boolean[4];
        while (turns < 20) {
            for (int i = 0; i < 4; i++) {
                if (!asked[i]) {
                    asked[i] = true;
                    gives[i] = holder == i;
                    // From now on another may get it.
                    holder = gives[i] ? -1 : holder;
                    reader.swap(i, i, 8L * i, 0, gives[i] ? i + 1 : 0, gives[i] ? 0 : i + 1);
                }
            }
            WorkCompletion done = reader.next();
            assertThat(done.status()).isEqualTo(WcStatus.SUCCESS);
            int who = (int) done.wrId();
            long old = reader.word(8L * who);
            asked[who] = false;
            if (gives[who]) {
                assertThat(old).as("the lock was held").isEqualTo(who + 1);
                turns++;
            } else if (old == 0) {
                assertThat(holder).as("nobody else holds the lock").isEqualTo(-1);
                holder = who;
            }
        }
    }
}
