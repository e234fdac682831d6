package dev.metaroce.transport;

import static dev.metaroce.transport.EarlyTest.accepted;
import static dev.metaroce.transport.EarlyTest.expectIdle;
import static dev.metaroce.transport.EarlyTest.idle;
import static dev.metaroce.transport.EarlyTest.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** REQUESTs with a message that come late, twice, to another process, or from a stranger. */
class EarlyReplayTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    // Late copies

    /** After the release, during and after the next lease, and when the endpoint was forgotten. */
    @Test
    void aLateCopyOfTheRequestIsNeverExecutedAgain() {
        Pair pair = idle();
        for (int i = 0; i < 8; i++) {
            pair.receive(0, i, 0, 64);
        }
        List<Lab.Packet> requests = record(pair);
        pair.send(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        Lab.Packet late = requests.getFirst();
        pair.lab.inject(pair.lab.copy(late, late.bytes.clone()));
        pair.lab.advance(MS);
        expectIdle(pair);
        pair.lab.inject(pair.lab.copy(late, late.bytes.clone()));
        pair.lab.advance(MS);
        pair.send(0, 2, 0, 64);
        pair.expectSends(2, SECOND);
        pair.lab.inject(pair.lab.copy(late, late.bytes.clone()));
        pair.lab.advance(MS);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        expectIdle(pair);
        pair.lab.inject(pair.lab.copy(late, late.bytes.clone()));
        pair.lab.advance(MS);
        forgetEndpoints(pair, requests.getLast());
        for (Lab.Packet request : requests) {
            pair.lab.inject(pair.lab.copy(request, request.bytes.clone()));
            pair.lab.advance(MS);
        }
        assertThat(pair.server.device.contextsInUse()).isZero();
        assertThat(accepted(pair)).isEqualTo(2);
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.receives).hasSize(2);
    }

    /** Requests of so many strangers that the server remembers none from before. */
    private static void forgetEndpoints(Pair pair, Lab.Packet pattern) {
        for (int i = 0; i < 40_000; i++) {
            byte[] bytes = Arrays.copyOf(pattern.bytes, ControlMessage.REQUEST_BYTES);
            ByteBuffer.wrap(bytes).putLong(24, i * 0x9E37_79B9L).put(65, (byte) 0);
            NetAddress source = NetAddress.ofIpv4(0x0B00_0000 + i, 50_791);
            pair.lab.deliverNow(source, pair.server, RawPacket.seal(bytes));
        }
        pair.lab.advance(SECOND);
    }

    /** The answer was lost, the lease is gone, the endpoint forgotten: the connection remembers. */
    @Test
    void theConnectionRemembersWhenTheEndpointIsForgotten() {
        DeviceLimits impatient = DEFAULTS.toBuilder().silenceNs(10 * MS).build();
        Pair pair = idle(DEFAULTS, impatient);
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 64, 64);
        List<Lab.Packet> requests = record(pair);
        boolean[] cut = {true};
        pair.lab.addFault(packet -> packet.from == pair.server && cut[0] ? 0 : 1);
        pair.send(0, 1, 0, 64);
        pair.lab.advance(SECOND);
        assertThat(pair.server.count(CounterId.EXPIRED)).isEqualTo(1);
        forgetEndpoints(pair, requests.getFirst());
        cut[0] = false;
        pair.expectSends(1, SECOND);
        pair.lab.advance(SECOND);
        pair.serverEnd.poll();
        assertThat(pair.serverEnd.receives).hasSize(1);
        assertThat(accepted(pair)).isEqualTo(1);
    }

    @Test
    void aLateCopyComesToAServerThatRestarted() {
        Pair pair = idle();
        pair.receive(0, 1, 0, 64);
        List<Lab.Packet> requests = record(pair);
        pair.send(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        Lab.Node again = pair.lab.replace(pair.server, DEFAULTS);
        pair.lab.inject(requests.getFirst());
        pair.lab.advance(MS);
        assertThat(again.count(CounterId.REQUESTS_RECEIVED)).isEqualTo(1);
        assertThat(again.count(CounterId.EARLY_ACCEPTED)).isZero();
        assertThat(again.device.contextsInUse()).isZero();
    }

    @Test
    void aLateCopyComesAfterTheClientRestarted() {
        Pair pair = idle();
        pair.receive(0, 1, 0, 64);
        pair.receive(0, 2, 0, 64);
        List<Lab.Packet> requests = record(pair);
        pair.send(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        Lab.Node again = pair.lab.replace(pair.client, DEFAULTS);
        again.device.connect(pair.server.address, Pair.SERVICE, new byte[0]);
        pair.lab.advance(SECOND);
        pair.lab.inject(requests.getFirst());
        pair.lab.advance(MS);
        assertThat(accepted(pair)).isEqualTo(1);
    }

    /**
     * The server restarts and meets a late copy of the very first request: it thinks that someone
     * connects. The client finds out by the first GRANT.
     */
    // MR-3.7-13
    @Test
    void aGrantOfAnotherProcessEndsTheConnection() {
        Pair pair = new Pair(1, DEFAULTS, 1, 4096);
        List<Lab.Packet> requests = record(pair);
        pair.connect().expectNoContexts(SECOND);
        Lab.Node again = pair.lab.replace(pair.server, DEFAULTS);
        again.device.listen(Pair.SERVICE, request -> request.accept(request.privateData()));
        pair.lab.inject(requests.getFirst());
        pair.lab.advance(MS);
        pair.write(0, 1, 0, 64);
        pair.lab.expect(
                "failed",
                () -> pair.clientEnd.connection.state() == ConnectionState.FAILED,
                SECOND);
        assertThat(pair.clientEnd.connection.failure()).contains("restarted");
        pair.lab.advance(MS);
        assertThat(again.device.contextsInUse()).isZero();
    }

    // Strangers

    /**
     * A peer that sends anything as the message of its REQUEST: nobody throws, nothing outside the
     * region is touched, and the server serves on.
     */
    @Seeded(cases = 100)
    void anyMessageIsSurvived(long seed) {
        Rng rng = new Rng(seed);
        Pair pair = idle();
        pair.receive(0, 1, 0, 64);
        pair.receive(1, 1, 64, 64);
        List<Lab.Packet> requests = record(pair);
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        expectIdle(pair);
        byte[] pattern = requests.getFirst().bytes;
        for (int i = 1; i <= 100; i++) {
            byte[] bytes = pattern.clone();
            ByteBuffer header = ByteBuffer.wrap(bytes);
            header.putLong(16, header.getLong(16) + i);
            for (int changes = rng.nextInt(5); changes > 0; changes--) {
                int at = 192 + rng.nextInt(changes > 2 ? 48 : bytes.length - 196);
                bytes[at] = (byte) (rng.chance(0.5) ? rng.nextInt(256) : 1 << rng.nextInt(8));
            }
            if (rng.chance(0.2)) {
                // A SEND instead, whose length is right.
                bytes = Arrays.copyOf(bytes, bytes.length - 12);
                bytes[192 + 5] = 3;
            }
            pair.lab.deliverNow(pair.client.address, pair.server, RawPacket.seal(bytes));
        }
        pair.lab.advance(SECOND);
        assertThat(pair.server.device.contextsInUse()).isLessThanOrEqualTo(1);
        assertThat(accepted(pair)).isGreaterThan(1);
        Pair.End again = pair.dialAgain();
        pair.lab.expect(
                "served on", () -> again.connection.state() == ConnectionState.OPEN, SECOND);
    }

    // MR-3.7-7
    @Test
    void aRequestFromAnotherHostExecutesNothing() {
        Pair pair = idle();
        List<Lab.Packet> requests = record(pair);
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, SECOND);
        expectIdle(pair);
        byte[] forged = requests.getFirst().bytes.clone();
        ByteBuffer header = ByteBuffer.wrap(forged);
        header.putLong(16, header.getLong(16) + 1);
        RawPacket.seal(forged);
        pair.lab.inject(NetAddress.ofIpv4(0x0B00_0001, 50_791), pair.server, forged);
        pair.lab.advance(MS);
        assertThat(accepted(pair)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(64);
    }
}
