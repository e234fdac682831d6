package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.Reservation;
import dev.metaroce.testing.Pair;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Case A10: lengths at the edge of 31 bits. */
class LargeMessageTest {
    private static final long LARGEST = 1L << 31;

    @Test
    @DisplayName("A10: a message of 2^31 bytes is cut into the right packets and counted whole")
    void a10TheLargestMessageIsCutAndCounted() {
        DeviceLimits limits = DeviceLimits.defaults();
        int mtu = limits.payloadMtu();
        RxContexts contexts = new RxContexts(limits);
        TransportConnection connection =
                TransportConnection.dialed(1, NetAddress.ofIpv4(1, 1), 1, new byte[0]);
        contexts.init(0, connection, 0, 1, 0, 1, true, 0, 0);
        Reservation room = new Reservation(new CompletionRing(4), 2);
        StreamSettings settings = new StreamSettings(0, 1, 1, 1, 1, 0, false, 0, 200, null);
        Stream stream = connection.addSlot(settings, room, room).queue();
        MemoryRegion region = new RegionTable(() -> 0xC0FFEE).registerVirtual(LARGEST, 0, 0);
        assertThat(
                        stream.sendQueue()
                                .offer(new SendRequest().write(0, 0).local(region, 0, LARGEST)))
                .isEqualTo(PostResult.OK);
        PacketMemory packet = new PacketMemory(64);
        TxLease lease =
                new TxLease(limits, NetAddress.ofIpv4(1, 1), new PullBudget(limits), new Rng(1));
        lease.number = 1;
        lease.open(NetAddress.ofIpv4(1, 1), 0, 0, 0, 1, true);
        lease.start(0, mtu, 1, LARGEST, 1);
        stream.begin(lease);
        long counted = 0;
        long packets = 0;
        boolean last = false;
        while (!last) {
            long offset = stream.sendOffset();
            int bytes = (int) Math.min(mtu, LARGEST - offset);
            DataHeader.encodeMessage(packet, 0, 0, offset, LARGEST, 0, 0);
            assertThat(DataHeader.msgOffset(packet, 0)).isEqualTo(packets * mtu);
            assertThat(DataHeader.length(packet, 0)).isEqualTo(LARGEST);
            counted = contexts.countMessage(0, 0, stream.id(), 0, bytes);
            last = stream.cut(bytes);
            packets++;
            assertThat(counted < LARGEST).isEqualTo(!last);
        }

        assertThat(packets).isEqualTo((LARGEST + mtu - 1) / mtu);
        assertThat(counted).isEqualTo(LARGEST);
        assertThat(stream.hasUnsent()).isFalse();
    }

    /** Needs 2 GiB of disk and some seconds; run with -Dmetaroce.large=true. */
    @Test
    @EnabledIfSystemProperty(named = "metaroce.large", matches = "true")
    @DisplayName("A10: a message of 2^31 bytes arrives whole")
    void a10TheLargestMessageArrives(@TempDir Path scratch) throws IOException {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().payloadMtu(65_408).build();
        Pair pair = new Pair(1, limits, 1, 4096).connect();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment from = sparse(arena, scratch.resolve("from"));
            MemorySegment to = sparse(arena, scratch.resolve("to"));
            for (long at = 0; at < LARGEST; at += 64 << 20) {
                from.asSlice(at, 4096).fill((byte) (at >> 26 | 0x40));
            }
            from.asSlice(LARGEST - 5, 5).fill((byte) 0x77);
            MemoryRegion local = pair.clientEnd.domain.register(from, 0);
            MemoryRegion remote = pair.serverEnd.domain.register(to, Access.REMOTE_WRITE);
            Pair.must(
                    1,
                    pair.clientEnd
                            .qp()
                            .postWrite(1, local, 0, LARGEST, remote.address(), remote.rkey()));
            pair.expectSends(1, 60_000_000_000L);

            assertThat(pair.clientEnd.sends.get(0).byteLength()).isEqualTo(LARGEST);
            assertThat(from.mismatch(to)).isEqualTo(-1);
            local.close();
            remote.close();
        }
    }

    private static MemorySegment sparse(Arena arena, Path file) throws IOException {
        try (FileChannel channel =
                FileChannel.open(
                        file,
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.SPARSE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, LARGEST, arena);
        }
    }
}
