package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** RoCEv2 over real sockets of this machine, between two of its loopback addresses. */
class RoceDeviceTest {
    private static final int BYTES = 100_000;

    @AutoClose private final Arena arena = Arena.ofShared();

    /** A device with one queue pair and zeroed memory. */
    private final class End implements AutoCloseable {
        final UdpDevice device;
        final MemoryRegion region;
        final CompletionQueue sends;
        final QueuePair pair;

        End(SocketKind kind, String address) {
            device =
                    UdpDevice.open(
                            DeviceOptions.builder()
                                    .transport(Transport.ROCE_V2)
                                    .bind(address)
                                    .sockets(kind)
                                    .build());
            ProtectionDomain domain = device.rdma().allocProtectionDomain();
            MemorySegment memory = arena.allocate(BYTES, 8);
            int access = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ;
            region = domain.register(memory, access);
            sends = device.rdma().createCompletionQueue(16);
            Connection connection = device.rdma().connectByHand();
            CompletionQueue receives = device.rdma().createCompletionQueue(16);
            pair = connection.createQueuePair(domain, sends, receives, 16, 16);
        }

        void expectCompletion() {
            WorkCompletion completion = new WorkCompletion();
            Until.expect("a completion", () -> sends.poll(completion));
            assertThat(completion.status()).isEqualTo(WcStatus.SUCCESS);
        }

        @Override
        public void close() {
            device.close();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"NIO", "AUTO"})
    void writesAndReadsArriveWhole(SocketKind kind) {
        try (End a = new End(kind, OwnLoopback.host(0));
                End b = new End(kind, OwnLoopback.host(1))) {
            MemorySegment there = b.region.segment();
            for (int i = 0; i < BYTES; i++) {
                a.region.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 >>> 3));
            }
            a.pair.connect(b.pair.localEnd());
            b.pair.connect(a.pair.localEnd());
            int rkey = b.region.descriptor().rkey();
            long address = b.region.descriptor().address();

            assertThat(a.pair.postWrite(1, a.region, 0, BYTES, address, rkey, true))
                    .isEqualTo(PostResult.OK);
            a.expectCompletion();
            assertThat(there.mismatch(a.region.segment())).isEqualTo(-1);

            a.region.segment().fill((byte) 0);
            assertThat(a.pair.postRead(2, a.region, 0, BYTES, address, rkey))
                    .isEqualTo(PostResult.OK);
            a.expectCompletion();
            assertThat(there.mismatch(a.region.segment())).isEqualTo(-1);
            for (End end : new End[] {a, b}) {
                assertThat(end.device.rdma().counters().get(CounterId.ICRC_ERRORS)).isZero();
                assertThat(end.device.rdma().counters().get(CounterId.MALFORMED)).isZero();
            }
        }
    }
}
