package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Cases A02, A06, A09 and X04: what a peer may reach, and when. */
class AccessCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static WcStatus outcome(Pair pair, int stream, long va, int rkey, long length) {
        QueuePair qp = pair.clientEnd.pairs.get(stream);
        Pair.must(1, qp.postWrite(1, pair.clientEnd.region, 0, length, va, rkey));
        pair.clientEnd.sends.clear();
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                SECOND);
        return pair.clientEnd.sends.get(0).status();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A02: a write reaches its region to the byte and not one byte more")
    void a02BoundsAreExact(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 7, 1 << 16).connect();
        pair.clientEnd.region.segment().fill((byte) 0x11);
        MemorySegment memory = Arena.ofAuto().allocate(3 * 4096, 8);
        memory.fill((byte) 0x5A);
        MemoryRegion region =
                pair.serverEnd.domain.register(memory.asSlice(4096, 4096), Access.REMOTE_WRITE);
        long va = region.address();
        int key = region.rkey();

        assertThat(outcome(pair, 0, va, key, 4096)).isEqualTo(WcStatus.SUCCESS);
        assertThat(outcome(pair, 1, va + 4095, key, 1)).isEqualTo(WcStatus.SUCCESS);
        WcStatus refused = WcStatus.REMOTE_ACCESS_ERROR;
        assertThat(outcome(pair, 2, va + 4095, key, 2)).isEqualTo(refused);
        assertThat(outcome(pair, 3, va + 4096, key, 1)).isEqualTo(refused);
        assertThat(outcome(pair, 4, va - 1, key, 1)).isEqualTo(refused);
        assertThat(outcome(pair, 5, va, key, 4097)).isEqualTo(refused);
        assertThat(outcome(pair, 6, -8, key, 16)).isEqualTo(refused);
        assertThat(memory.asSlice(0, 4096).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x5A);
        assertThat(memory.asSlice(8192, 4096).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x5A);
        assertThat(pair.server.count(CounterId.ACCESS_REFUSED)).isGreaterThanOrEqualTo(5);
    }

    @Test
    @DisplayName("X04: rights and domains are kept")
    void x04RightsAndDomainsAreKept() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 4, 1 << 16).connect();
        MemorySegment memory = Arena.ofAuto().allocate(4096, 8);
        memory.fill((byte) 0x5A);
        ProtectionDomain other = pair.server.device.allocProtectionDomain();
        MemoryRegion readOnly = pair.serverEnd.domain.register(memory, Access.REMOTE_READ);
        MemoryRegion localOnly = pair.serverEnd.domain.register(memory, Access.LOCAL_WRITE);
        MemoryRegion elsewhere = other.register(memory, Access.REMOTE_WRITE);
        MemoryRegion[] regions = {readOnly, localOnly, elsewhere};
        for (int i = 0; i < regions.length; i++) {
            assertThat(outcome(pair, i, regions[i].address(), regions[i].rkey(), 64))
                    .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        }
        assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x5A);
        MemoryRegion right = pair.serverEnd.domain.register(memory, Access.REMOTE_WRITE);
        assertThat(outcome(pair, 3, right.address(), right.rkey(), 64)).isEqualTo(WcStatus.SUCCESS);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A09: after deregistration not one byte changes, and the old key stays dead")
    void a09DeregistrationInMidTransfer(Profile profile) {
        Pair pair = new Pair(9, Profiles.only(profile).build(), 2, 8 << 20);
        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.connect();
        pair.clientEnd.region.segment().fill((byte) 0x11);
        for (int i = 0; i < 128; i++) {
            pair.write(0, i, i << 16, 1 << 16);
        }
        pair.lab.advance(30 * MS);
        pair.clientEnd.poll();
        int before = pair.clientEnd.sends.size();
        assertThat(before).isBetween(10, 120);
        MemoryRegion old = pair.serverEnd.region;
        old.close();
        old.segment().fill((byte) 0x5A);
        MemoryRegion again = pair.serverEnd.domain.register(old.segment(), Access.REMOTE_WRITE);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(old.segment().toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x5A);
        assertThat(pair.clientEnd.sends).hasSize(128);
        int failed = 0;
        while (pair.clientEnd.sends.get(failed).status() == WcStatus.SUCCESS) {
            failed++;
        }
        assertThat(failed).isGreaterThanOrEqualTo(before);
        assertThat(pair.clientEnd.sends.get(failed).status())
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.clientEnd.sends.subList(failed + 1, 128))
                .allMatch(wc -> wc.status() == WcStatus.WR_FLUSH_ERROR);
        assertThat(again.rkey()).isNotEqualTo(old.rkey());
        assertThat(outcome(pair, 1, old.address(), old.rkey(), 64))
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A06: posts beyond the depth are refused, and none is lost")
    void a06MorePostsThanTheQueueIsDeep(Profile profile) {
        Pair pair = new Pair(6, Profiles.only(profile).build(), 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        int accepted = 0;
        while (tryWrite(pair, accepted) == PostResult.OK) {
            accepted++;
        }
        assertThat(accepted).isEqualTo(512);
        pair.lab.advance(SECOND);
        // Nothing was polled: still full.
        assertThat(tryWrite(pair, accepted)).isEqualTo(PostResult.QUEUE_FULL);
        pair.expectSends(512, SECOND);
        while (accepted < 1000) {
            assertThat(tryWrite(pair, accepted)).isEqualTo(PostResult.OK);
            accepted++;
        }
        pair.expectSends(1000, SECOND);
        for (int i = 0; i < 1000; i++) {
            assertThat(pair.clientEnd.sends.get(i).wrId()).isEqualTo(i);
        }
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(0, 1000 * 512)
                                .mismatch(pair.serverEnd.region.segment().asSlice(0, 1000 * 512)))
                .isEqualTo(-1);
    }

    private static PostResult tryWrite(Pair pair, int number) {
        long at = number * 512L;
        return pair.clientEnd
                .qp()
                .postWrite(
                        number,
                        pair.clientEnd.region,
                        at,
                        512,
                        pair.serverEnd.region.address() + at,
                        pair.serverEnd.region.rkey());
    }
}
