package dev.metaroce.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Every public call with wrong arguments: one clear exception, and the device goes on. */
@SuppressWarnings("MustBeClosedChecker") // a closed arena is one of the cases
class WrongUseTest {
    private static final long SECOND = 1_000_000_000L;
    private static final byte[] NONE = {};

    private final Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 4096).connect();
    private final RdmaDevice device = pair.client.device;
    private final Connection connection = pair.clientEnd.connection;
    private final ProtectionDomain domain = pair.clientEnd.domain;
    private final QueuePair qp = pair.clientEnd.qp();
    private final MemoryRegion region = pair.clientEnd.region;
    private final CompletionQueue queue = device.createCompletionQueue(16);
    private boolean deviceClosed;

    @AfterEach
    void theDeviceGoesOn() {
        if (!deviceClosed && connection.state() == ConnectionState.OPEN) {
            pair.write(0, 99, 0, 4096);
            pair.expectSends(1, SECOND);
        }
    }

    private static void refused(ThrowingCallable call, String why) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    private static void tooLate(ThrowingCallable call, String why) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(why);
    }

    private static void isNull(ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(NullPointerException.class);
    }

    @Test
    void memoryThatCannotBeRegistered() {
        refused(() -> domain.register(MemorySegment.ofArray(new byte[8]), 0), "on the heap");
        refused(() -> domain.register(ByteBuffer.allocate(8), 0), "ByteBuffer.allocateDirect");
        Arena arena = Arena.ofShared();
        MemorySegment gone = arena.allocate(8);
        arena.close();
        refused(() -> domain.register(gone, 0), "the arena of the segment is closed");
        MemorySegment readOnly = Arena.ofAuto().allocate(8).asReadOnly();
        refused(() -> domain.register(readOnly, Access.REMOTE_WRITE), "read-only");
        refused(
                () -> domain.register(ByteBuffer.allocateDirect(8).asReadOnlyBuffer(), 1),
                "read-only");
        refused(() -> domain.register(Arena.ofAuto().allocate(8), 64), "use the flags of Access");
        refused(() -> domain.register(Arena.ofAuto().allocate(8), -1), "use the flags of Access");
        refused(() -> domain.allocate(-1, 0), "region of -1 bytes");
        refused(() -> domain.registerVirtual(-1, 0), "virtual region of -1 bytes");
        isNull(() -> domain.register((MemorySegment) null, 0));
        isNull(() -> domain.register((ByteBuffer) null, 0));
        refused(() -> RegionDescriptor.of(new byte[19]), "20 bytes, here are 19");
    }

    @Test
    void everyKindOfMemoryThatCanBeRegistered() {
        ByteBuffer direct = ByteBuffer.allocateDirect(64);
        direct.position(16).limit(48);
        MemoryRegion part = domain.register(direct, Access.ALL);
        assertThat(part.length()).as("what lies between position and limit").isEqualTo(32);
        part.segment().set(java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (byte) 7);
        assertThat(direct.get(16)).isEqualTo((byte) 7);
        assertThat(domain.register(direct.slice(), 0).address()).isEqualTo(part.address());
        assertThat(domain.register(direct.asReadOnlyBuffer(), Access.REMOTE_READ).isOpen())
                .isTrue();
        assertThat(domain.register(Arena.global().allocate(8), 0).length()).isEqualTo(8);
        assertThat(domain.allocate(0, 0).length()).isZero();
        assertThat(domain.allocate(1000, Access.ALL).address() % 64).isZero();
    }

    @Test
    void queuesOfWrongSizesOrOfOthers() {
        refused(() -> device.createCompletionQueue(0), "capacity 0 is not in 1..");
        refused(() -> device.createCompletionQueue(-1), "capacity -1 is not in 1..");
        refused(() -> device.createCompletionQueue(Integer.MAX_VALUE), "is not in 1..");
        isNull(() -> device.createCompletionQueue(1, null));
        for (int depth : new int[] {Integer.MIN_VALUE, -1, 0, 32_769, Integer.MAX_VALUE}) {
            refused(
                    () -> connection.createQueuePair(domain, queue, queue, depth, 1),
                    "sendDepth " + depth + " is not in 1..32768");
            refused(
                    () -> connection.createQueuePair(domain, queue, queue, 1, depth),
                    "receiveDepth " + depth + " is not in 1..32768");
        }
        refused(
                () -> connection.createQueuePair(domain, queue, queue, 10, 10),
                "cannot hold 10 more");
        connection.createQueuePair(domain, queue, queue, 8, 8);
        refused(() -> connection.createQueuePair(domain, queue, queue, 1, 1), "16 are reserved");
        RdmaDevice other = pair.server.device;
        CompletionQueue theirs = other.createCompletionQueue(4);
        refused(
                () -> connection.createQueuePair(domain, theirs, theirs, 1, 1),
                "must be of the device of the connection");
        refused(
                () -> connection.createQueuePair(other.allocProtectionDomain(), queue, queue, 1, 1),
                "must be of the device of the connection");
        isNull(() -> connection.createQueuePair(null, queue, queue, 1, 1));
        isNull(() -> connection.createQueuePair(domain, null, queue, 1, 1));
    }

    @Test
    void postsOutsideOfTheirRegion() {
        long[][] ranges = {
            {-1, 1},
            {0, -1},
            {0, 4097},
            {4096, 1},
            {Long.MAX_VALUE, 1},
            {1, Long.MAX_VALUE},
            {Long.MIN_VALUE, 0},
            {0, (1L << 31) + 1}
        };
        for (long[] range : ranges) {
            assertThatThrownBy(() -> qp.postWrite(1, region, range[0], range[1], 0, 0))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> qp.postSend(1, region, range[0], range[1]))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> qp.postReceive(1, region, range[0], range[1]))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(pair.clientEnd.sendQueue.size()).isZero();
    }

    @Test
    void connectingWrongly() {
        refused(() -> device.connect(pair.server.address, 1, new byte[65]), "65 bytes: at most 64");
        refused(() -> device.connect(pair.server.address, 1, NONE, 0), "time to connect of 0 ns");
        refused(() -> device.connect(pair.server.address, 1, NONE, -5), "time to connect of -5 ns");
        isNull(() -> device.connect(null, 1, NONE));
        isNull(() -> device.connect(pair.server.address, 1, null));
        isNull(() -> device.listen(1, null));
        refused(() -> device.listen(1, 0), "backlog 0 is not in 1..1024");
        refused(() -> device.listen(1, 1025), "backlog 1025 is not in 1..1024");
        Connection nobody = device.connect(pair.server.address, 99, NONE, SECOND);
        tooLate(() -> nobody.awaitOpen(5 * SECOND), "the peer has no service 99");
        assertThat(device.awaitOpen(connection, -1)).as("it is open").isTrue();
        assertThat(device.awaitClosed(connection, Long.MIN_VALUE)).isFalse();
    }

    @Test
    void aClosedConnection() {
        connection.close();
        connection.close();
        assertThat(device.awaitClosed(connection, SECOND)).isTrue();
        WorkCompletion wc = new WorkCompletion();
        Pair.must(1, qp.postWrite(1, region, 0, 8, 0, 0));
        assertThat(pair.clientEnd.sendQueue.await(wc, SECOND)).isTrue();
        assertThat(wc.status()).hasToString("WR_FLUSH_ERROR");
        Pair.must(2, qp.postReceive(2));
        assertThat(pair.clientEnd.receiveQueue.await(wc, SECOND)).isTrue();
        assertThat(connection.cid()).isEqualTo(-1);
        assertThat(connection.sending()).isNull();
    }

    @Test
    void aClosedRegionTwice() {
        MemoryRegion mine = domain.allocate(64, Access.ALL);
        mine.close();
        mine.close();
        assertThat(mine.isOpen()).isFalse();
    }

    @Test
    void aClosedDevice() {
        deviceClosed = true;
        Lab.Node node = pair.client;
        device.close();
        device.close();
        assertThat(node.isDead()).isTrue();
        tooLate(() -> device.connect(pair.server.address, 1, NONE), "the device is closed");
        tooLate(() -> device.listen(1, ConnectionRequest::accept), "the device is closed");
        tooLate(() -> device.listen(1, 4), "the device is closed");
        tooLate(() -> device.allocProtectionDomain(), "the device is closed");
        tooLate(() -> qp.postWrite(1, region, 0, 8, 0, 0), "the device is closed");
        tooLate(
                () -> connection.createQueuePair(domain, queue, queue, 1, 1),
                "the device is closed");
        connection.close();
        region.close();
        assertThat(queue.poll(new WorkCompletion())).isFalse();
        assertThat(device.events().poll()).isNull();
        assertThat(connection.failure()).isEmpty();
    }
}
