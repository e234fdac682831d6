package dev.metaroce.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Seeded;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/**
 * Case J02 in virtual time: memory goes away at any moment of a thousand WRITEs, with its region or
 * behind its back, at the side that sends or at the one that receives.
 */
@SuppressWarnings("MustBeClosedChecker") // when arenas are closed is what this is about
class ClosedMemoryTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int WRITES = 1_000;
    private static final int BYTES = 1 << 16;
    private static final Set<WcStatus> ALLOWED =
            EnumSet.of(
                    WcStatus.SUCCESS,
                    WcStatus.LOCAL_PROTECTION_ERROR,
                    WcStatus.REMOTE_ACCESS_ERROR,
                    WcStatus.WR_FLUSH_ERROR);

    @Seeded(cases = 300)
    void j02MemoryClosedDuringAThousandWrites(long seed) {
        Rng rng = new Rng(seed);
        Lab lab = new Lab(seed);
        Lab.Node server = lab.add(DeviceLimits.defaults());
        Lab.Node client = lab.add(DeviceLimits.defaults());
        boolean confined = rng.chance(0.3);
        Arena fromArena = confined ? Arena.ofConfined() : Arena.ofShared();
        Arena toArena = confined ? Arena.ofConfined() : Arena.ofShared();
        ProtectionDomain there = server.device.allocProtectionDomain();
        ProtectionDomain here = client.device.allocProtectionDomain();
        MemoryRegion from = here.register(fromArena.allocate(BYTES, 64), 0);
        MemoryRegion to = there.register(toArena.allocate(BYTES, 64), Access.REMOTE_WRITE);
        CompletionQueue unused = server.device.createCompletionQueue(2);
        server.device.listen(
                1,
                request -> {
                    request.connection().createQueuePair(there, unused, unused, 1, 1);
                    request.accept();
                });
        CompletionQueue done = client.device.createCompletionQueue(2 * WRITES);
        QueuePair pair =
                client.device
                        .connect(server.address, 1, new byte[0])
                        .createQueuePair(here, done, done, WRITES, WRITES);
        for (int i = 0; i < WRITES; i++) {
            int length = 1 + rng.nextInt(i % 10 == 0 ? BYTES : 256);
            pair.postWrite(i, from, 0, length, to.address(), to.rkey());
        }
        boolean atSource = rng.chance(0.5);
        boolean regionFirst = rng.chance(0.5);
        lab.advance(rng.nextInt(3_000_000));
        if (regionFirst) {
            (atSource ? from : to).close();
        }
        (atSource ? fromArena : toArena).close();
        WorkCompletion wc = new WorkCompletion();
        for (int i = 0; i < WRITES; i++) {
            assertThat(done.await(wc, 20 * SECOND)).as("completion %d", i).isTrue();
            assertThat(wc.wrId()).isEqualTo(i);
            assertThat(ALLOWED).contains(wc.status());
        }
        assertThat(done.poll(wc)).isFalse();
        (atSource ? toArena : fromArena).close();
        MemorySegment after = Arena.ofAuto().allocate(64);
        assertThat(there.register(after, Access.REMOTE_WRITE).isOpen()).isTrue();
    }
}
