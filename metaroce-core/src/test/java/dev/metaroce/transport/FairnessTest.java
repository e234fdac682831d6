package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.Sender;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.util.Arrays;

/** Nobody is served at the cost of others: streams of a connection, connections of a device. */
class FairnessTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @EnumSource(Profile.class)
    void streamsOfAConnectionShareIt(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 8, 8 << 18);
        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.connect();
        Sender[] senders = new Sender[8];
        for (int i = 0; i < 8; i++) {
            // Some ask for much at once, some for little.
            senders[i] = new Sender(pair, i, 1 << 16, i < 4 ? 64 : 16);
        }
        Sender.run(pair, 100 * MS, senders);
        long[] bytes = Sender.run(pair, 500 * MS, senders);
        Arrays.sort(bytes);

        assertThat(bytes[0]).isGreaterThan(bytes[7] * 8 / 10);
    }

    /** A small message is not held up behind a long queue of large ones of another stream. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aSmallMessageOvertakesTheLargeOnesOfAnotherStream(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 2, 2 << 20);
        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.connect();
        for (int i = 0; i < 200; i++) {
            pair.write(0, i, 0, 1 << 20);
        }
        pair.lab.advance(50 * MS);
        long start = pair.lab.nowNs();
        pair.write(1, 999, 0, 64);
        pair.lab.expect(
                "the small one",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.stream().anyMatch(wc -> wc.wrId() == 999);
                },
                SECOND);

        // 200 MiB take 1.7 s.
        assertThat(pair.lab.nowNs() - start).isLessThan(50 * MS);
    }

    /** One device sends over many connections: each has its turn. */
    @Test
    void connectionsOfADeviceTakeTurns() {
        Lab lab = new Lab(3);
        DeviceLimits limits = DeviceLimits.defaults();
        Lab.Node sender = lab.add(limits);
        int targets = 12;
        lab.link(200_000_000L, MS, 100 * MS);
        OneToMany[] all = new OneToMany[targets];
        for (int i = 0; i < targets; i++) {
            all[i] = new OneToMany(lab, sender, i == 0 ? 1 << 20 : 1 << 14, i == 0 ? 32 : 2);
        }
        long end = lab.nowNs() + 500 * MS;
        while (lab.nowNs() < end) {
            for (OneToMany one : all) {
                one.keepBusy();
            }
            lab.advance(MS / 10);
        }
        long least = Long.MAX_VALUE;
        for (OneToMany one : all) {
            least = Math.min(least, one.completedBytes);
        }
        // Every target's own link takes 12.5 MB in that time.
        assertThat(least).isGreaterThan(5_000_000);
    }

    private static final class OneToMany {
        private final int bytes;
        private final int depth;
        private final QueuePair qp;
        private final CompletionQueue done;
        private final MemoryRegion from;
        private final MemoryRegion to;
        private int open;
        long completedBytes;

        OneToMany(Lab lab, Lab.Node sender, int bytes, int depth) {
            this.bytes = bytes;
            this.depth = depth;
            Lab.Node target = lab.add(DeviceLimits.defaults());
            ProtectionDomain there = target.device.allocProtectionDomain();
            to = there.register(Arena.ofAuto().allocate(bytes, 8), Access.REMOTE_WRITE);
            CompletionQueue unused = target.device.createCompletionQueue(2);
            target.device.listen(
                    1,
                    request -> {
                        request.connection().createQueuePair(there, unused, unused, 1, 1);
                        request.accept();
                    });
            ProtectionDomain here = sender.device.allocProtectionDomain();
            from = here.register(Arena.ofAuto().allocate(bytes, 8), 0);
            done = sender.device.createCompletionQueue(2 * depth);
            qp =
                    sender.device
                            .connect(target.address, 1, new byte[0])
                            .createQueuePair(here, done, done, depth, depth);
        }

        void keepBusy() {
            WorkCompletion wc = new WorkCompletion();
            while (done.poll(wc)) {
                completedBytes += wc.byteLength();
                open--;
            }
            while (open < depth) {
                Pair.must(1, qp.postWrite(1, from, 0, bytes, to.address(), to.rkey()));
                open++;
            }
        }
    }
}
