package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;

/** SEND with invalidate: the end of a key by the peer that used it. MR-4.9-5, MR-4.9-6. */
class InvalidateTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static MemoryRegion region(Pair pair) {
        return pair.serverEnd.domain.register(Arena.ofAuto().allocate(4096), Access.ALL);
    }

    private static void post(Pair pair, int stream, SendRequest request) {
        Pair.must(1, pair.clientEnd.pairs.get(stream).post(request));
    }

    private static WcStatus last(Pair pair, int count) {
        pair.lab.expect(
                count + " outcomes",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.size() == count;
                },
                SECOND);
        return pair.clientEnd.sends.getLast().status();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void theKeyIsDeadWhenTheReceiveCompletes(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).payloadMtu(1024).build(), 2, 1 << 16);
        pair.connect();
        MemoryRegion target = region(pair);
        pair.receive(0, 7, 0, 10_000);
        SendRequest request = new SendRequest().local(pair.clientEnd.region, 0, 5_000);
        post(pair, 0, request.sendWithInvalidate(target.rkey()));
        while (pair.serverEnd.receives.isEmpty()) {
            assertThat(target.isRevoked()).isFalse();
            pair.lab.step();
            pair.serverEnd.poll();
        }

        WorkCompletion wc = pair.serverEnd.receives.get(0);
        assertThat(wc.hasInvalidatedKey()).isTrue();
        assertThat(wc.invalidatedKey()).isEqualTo(target.rkey());
        assertThat(wc.hasImmediate()).isFalse();
        assertThat(wc.byteLength()).isEqualTo(5_000);
        assertThat(target.isRevoked()).isTrue();
        assertThat(last(pair, 1)).isEqualTo(WcStatus.SUCCESS);
        // No peer reaches it any more; its owner does.
        request.local(pair.clientEnd.region, 0, 8).write(target.address(), target.rkey());
        post(pair, 1, request);
        assertThat(last(pair, 2)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        Pair.must(8, pair.serverEnd.qp().postReceive(8, target, 0, 4096));
        pair.send(0, 8, 0, 4096);
        assertThat(last(pair, 3)).isEqualTo(WcStatus.SUCCESS);
        target.close();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aKeyThatIsNotThereIsRefusedAndNothingDelivered(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 4, 1 << 16).connect();
        MemoryRegion closed = region(pair);
        closed.close();
        MemoryRegion foreign =
                pair.server
                        .device
                        .allocProtectionDomain()
                        .register(Arena.ofAuto().allocate(8), Access.ALL);
        MemoryRegion twice = region(pair);
        int[] keys = {closed.rkey(), foreign.rkey(), 0};
        SendRequest request = new SendRequest().local(pair.clientEnd.region, 0, 100);
        for (int i = 0; i < keys.length; i++) {
            pair.receive(i, i, 0, 100);
            post(pair, i, request.sendWithInvalidate(keys[i]));
            assertThat(last(pair, i + 1)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        }
        pair.receive(3, 3, 0, 100);
        pair.receive(3, 4, 0, 100);
        post(pair, 3, request.sendWithInvalidate(twice.rkey()));
        assertThat(last(pair, 4)).isEqualTo(WcStatus.SUCCESS);
        post(pair, 3, request);
        assertThat(last(pair, 5)).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        pair.serverEnd.poll();

        assertThat(pair.serverEnd.receives)
                .singleElement()
                .matches(wc -> wc.wrId() == 3 && wc.status() == WcStatus.SUCCESS);
        assertThat(foreign.isRevoked()).isFalse();
    }

    /** What is before it in the stream may still use the key, however packets arrive. */
    @Test
    void earlierWritesOfTheStreamAreNotRefused() {
        Pair pair = new Pair(3, DeviceLimits.defaults(), 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += pair.lab.rng("shuffle").nextInt(1_000_000);
                    return 1;
                });
        MemoryRegion region = pair.serverEnd.region;
        SendRequest request = new SendRequest();
        for (int i = 0; i < 100; i++) {
            request.write(region.address() + i * 10_000, region.rkey());
            post(pair, 0, request.local(pair.clientEnd.region, i * 10_000, 10_000));
        }
        pair.receive(0, 1, 0, 0);
        post(pair, 0, request.empty().sendWithInvalidate(region.rkey()));
        pair.expectSends(101, 10 * SECOND);

        assertThat(region.isRevoked()).isTrue();
        assertThat(
                        region.segment()
                                .asSlice(0, 1_000_000)
                                .mismatch(pair.clientEnd.region.segment().asSlice(0, 1_000_000)))
                .isEqualTo(-1);
    }
}
