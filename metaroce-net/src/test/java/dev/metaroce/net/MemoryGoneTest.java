package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Case J02: memory is closed by one thread while another sends from it and writes to it. As many
 * rounds as {@code -Dmetaroce.rounds} says.
 */
@Timeout(300)
class MemoryGoneTest {
    /** Which memory goes away while a thousand writes are on their way. */
    private enum Gone {
        SOURCE_REGION,
        SOURCE_ARENA,
        TARGET_REGION,
        TARGET_ARENA
    }

    @ParameterizedTest
    @EnumSource(Gone.class)
    @DisplayName("J02: memory that is closed while in use fails requests, and nothing else")
    void j02MemoryIsClosedWhileInUse(Gone gone) {
        int rounds = Integer.getInteger("metaroce.rounds", 50);
        Rng rng = new Rng(gone.ordinal());
        try (Station server = new Station(DriveMode.THREAD, DeviceLimits.defaults(), 64);
                Station client = new Station(DriveMode.THREAD, DeviceLimits.defaults(), 64)) {
            for (int round = 0; round < rounds; round++) {
                closeInMidTransfer(server, client, gone, rng.nextInt(900));
                server.accepted.clear();
            }
            Station.Call last = client.call(server.address());
            Until.expect("the devices live", () -> keepBusy(last));
        }
    }

    private static boolean keepBusy(Station.Call call) {
        call.keepBusy(64);
        return call.completed > 0;
    }

    @SuppressWarnings("MustBeClosedChecker") // that they are closed at a bad moment is the point
    private static void closeInMidTransfer(
            Station server, Station client, Gone gone, int completedBefore) {
        int writes = 1000;
        int bytes = 1 << 20;
        Arena sourceArena = Arena.ofShared();
        Arena targetArena = Arena.ofShared();
        MemorySegment memory = targetArena.allocate(bytes, 64);
        MemoryRegion from = client.domain.register(sourceArena.allocate(bytes, 64), Access.ALL);
        MemoryRegion to = server.domain.register(memory, Access.ALL);
        from.segment().fill((byte) 0xAA);
        CompletionQueue done = client.device.rdma().createCompletionQueue(writes + 1);
        Connection connection =
                client.device
                        .rdma()
                        .connect(
                                Addresses.toNetAddress(server.address()),
                                Station.SERVICE,
                                new byte[0]);
        QueuePair pair = connection.createQueuePair(client.domain, done, done, writes, 1);
        for (int i = 0; i < writes; i++) {
            assertThat(
                            pair.postWrite(
                                    i, from, i * 1024L, 1024, to.address() + i * 1024L, to.rkey()))
                    .isEqualTo(PostResult.OK);
        }
        List<WcStatus> outcomes = new ArrayList<>();
        WorkCompletion wc = new WorkCompletion();
        BooleanSupplier drain =
                () -> {
                    while (done.poll(wc)) {
                        outcomes.add(wc.status());
                    }
                    return outcomes.size() >= completedBefore;
                };
        Until.expect("some writes", drain);
        switch (gone) {
            case SOURCE_REGION -> from.close();
            case SOURCE_ARENA -> sourceArena.close();
            case TARGET_REGION -> {
                to.close();
                memory.fill((byte) 0x5A);
            }
            case TARGET_ARENA -> targetArena.close();
        }
        Until.expect("all outcomes", () -> drain.getAsBoolean() && outcomes.size() == writes);
        assertThat(outcomes)
                .containsAnyOf(WcStatus.SUCCESS, WcStatus.WR_FLUSH_ERROR)
                .doesNotContain(WcStatus.RETRY_EXCEEDED_ERROR);
        if (gone == Gone.TARGET_REGION) {
            assertThat(memory.mismatch(Arena.ofAuto().allocate(bytes).fill((byte) 0x5A)))
                    .isEqualTo(-1);
        }
        connection.close();
        to.close();
        from.close();
        for (Arena arena : List.of(sourceArena, targetArena)) {
            if (arena.scope().isAlive()) {
                arena.close();
            }
        }
    }
}
