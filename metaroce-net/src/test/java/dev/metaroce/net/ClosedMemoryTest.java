package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/**
 * Case J02 on real sockets: an arena is closed by the application's thread while the driver threads
 * move a thousand WRITEs, again and again; no crash, no write afterwards, each WRITE ends once.
 */
@Timeout(120)
@SuppressWarnings("MustBeClosedChecker") // when arenas are closed is what this is about
class ClosedMemoryTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int ROUNDS = 30;
    private static final int WRITES = 1_000;
    private static final int BYTES = 1 << 15;
    private static final Set<WcStatus> ALLOWED =
            EnumSet.of(
                    WcStatus.SUCCESS,
                    WcStatus.LOCAL_PROTECTION_ERROR,
                    WcStatus.REMOTE_ACCESS_ERROR,
                    WcStatus.WR_FLUSH_ERROR);

    private enum Kind {
        /** Closed by the application, which owns it; out of reach of the drivers from the start. */
        CONFINED,
        SHARED,
        /** Never closed: the region is. */
        AUTO
    }

    @ParameterizedTest
    @CsvSource({
        "CONFINED,true",
        "CONFINED,false",
        "SHARED,true",
        "SHARED,false",
        "AUTO,true",
        "AUTO,false"
    })
    void j02MemoryClosedDuringAThousandWrites(Kind kind, boolean atSource) {
        try (UdpDevice server = UdpDevice.open("127.0.0.1", 0);
                UdpDevice client = UdpDevice.open("127.0.0.1", 0)) {
            ProtectionDomain there = server.rdma().allocProtectionDomain();
            CompletionQueue unused = server.rdma().createCompletionQueue(2 * ROUNDS);
            server.rdma()
                    .listen(
                            1,
                            request -> {
                                request.connection().createQueuePair(there, unused, unused, 1, 1);
                                request.accept();
                            });
            for (int round = 0; round < ROUNDS; round++) {
                round(kind, atSource, there, server, client, round);
            }
        }
    }

    private static void round(
            Kind kind,
            boolean atSource,
            ProtectionDomain there,
            UdpDevice server,
            UdpDevice client,
            int round) {
        Arena doomed =
                switch (kind) {
                    case CONFINED -> Arena.ofConfined();
                    case SHARED -> Arena.ofShared();
                    case AUTO -> Arena.ofAuto();
                };
        ProtectionDomain here = client.rdma().allocProtectionDomain();
        MemorySegment lasting = Arena.ofAuto().allocate(BYTES, 64);
        MemorySegment going = doomed.allocate(BYTES, 64);
        MemoryRegion from = here.register(atSource ? going : lasting, 0);
        MemoryRegion to = there.register(atSource ? lasting : going, Access.REMOTE_WRITE);
        CompletionQueue done = client.rdma().createCompletionQueue(WRITES + 1);
        Connection connection =
                client.rdma().connect(server.address(), 1, new byte[0]).awaitOpen(10 * SECOND);
        QueuePair pair = connection.createQueuePair(here, done, done, WRITES, 1);
        for (int i = 0; i < WRITES; i++) {
            int length = i % 10 == 0 ? BYTES : 256;
            pair.postWrite(i, from, 0, length, to.address(), to.rkey());
        }
        WorkCompletion wc = new WorkCompletion();
        int before = kind == Kind.CONFINED ? 0 : round * 10;
        for (int i = 0; i < before; i++) {
            assertThat(done.await(wc, 10 * SECOND)).isTrue();
        }
        MemoryRegion closing = atSource ? from : to;
        switch (kind) {
            case CONFINED -> doomed.close();
            case SHARED -> closeInUse(doomed);
            case AUTO -> closing.close();
        }
        if (kind == Kind.AUTO && !atSource) {
            going.fill((byte) 0x5A);
        }
        for (int i = before; i < WRITES; i++) {
            assertThat(done.await(wc, 10 * SECOND))
                    .as("completion %d of round %d, %s", i, round, connection.failure())
                    .isTrue();
            assertThat(wc.wrId()).isEqualTo(i);
            assertThat(ALLOWED).contains(wc.status());
        }
        if (kind == Kind.AUTO && !atSource) {
            MemorySegment pattern = Arena.ofAuto().allocate(BYTES).fill((byte) 0x5A);
            assertThat(going.mismatch(pattern)).as("written after the close").isEqualTo(-1);
        }
        from.close();
        to.close();
        connection.close();
        assertThat(client.rdma().awaitClosed(connection, 10 * SECOND)).isTrue();
    }

    /** Refused as long as a checksum is being computed over the arena's memory, then done. */
    private static void closeInUse(Arena arena) {
        for (int refusals = 0; arena.scope().isAlive(); refusals++) {
            try {
                arena.close();
            } catch (IllegalStateException inUse) {
                assertThat(refusals).as("%s", inUse).isLessThan(1_000_000);
                Thread.onSpinWait();
            }
        }
    }
}
