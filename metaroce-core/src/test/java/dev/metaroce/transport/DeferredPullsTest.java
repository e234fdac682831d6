package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.EventSink;
import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.Reservation;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Opcode;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Requests that wait for their turn: bounded, in order, forgotten with their connection. */
class DeferredPullsTest {
    private static final int MOST = 1024;

    private final TransportConnection connection =
            TransportConnection.dialed(1, NetAddress.ofIpv4(1, 1), 1, new byte[0]);
    private final Stream stream = newStream();
    private final Stream other = newStream();
    private final PullRequest request = new PullRequest();

    private Stream newStream() {
        Reservation room = new Reservation(new CompletionRing(16), 4);
        StreamSettings settings = new StreamSettings(1, 4, 4, 1, 1, 0, false, 0, 200, null);
        return connection.addSlot(settings, room, room).queue();
    }

    private PullRequest read(int msn, int psn) {
        request.opcode = Opcode.READ_REQ;
        request.msn = msn;
        request.psn = psn;
        request.bytes = 100;
        request.length = 100;
        request.slot = 0xFFFF;
        return request;
    }

    @Test
    @DisplayName("MR-4.6-13: a request that finds no room is refused as not ready")
    void boundIsKept() {
        DeviceLimits limits = DeviceLimits.defaults();
        DeviceState device =
                new DeviceState(
                        limits, new EndpointIdentity(1, 1), new Rng(1), () -> 1, EventSink.NONE);
        RxContexts contexts = new RxContexts(limits);
        DeferredPulls deferred = contexts.deferred();
        AckBuilder acks =
                new AckBuilder(
                        device,
                        contexts,
                        new ReceiverShares(device, contexts),
                        new CidPool(1, 1, 1, 1, limits.policy()));
        PullServer server = new PullServer(device, contexts, acks);
        for (int i = 0; i < MOST; i++) {
            assertThat(server.check(stream, read(1, i))).isEqualTo(Verdict.ACCEPTED);
            deferred.add(stream, request);
        }
        assertThat(server.check(stream, read(1, MOST))).isEqualTo(Verdict.NOT_READY);
        assertThat(server.check(other, read(1, MOST))).isEqualTo(Verdict.NOT_READY);

        deferred.drop(connection);
        assertThat(deferred.size()).isZero();
        assertThat(server.check(stream, read(1, 0))).isEqualTo(Verdict.ACCEPTED);
    }

    @Test
    void whoHasItsTurnComesOutInTheOrderOfArrival() {
        DeferredPulls deferred = new DeferredPulls();
        for (int psn = 0; psn < 40; psn++) {
            deferred.add(stream, read(1 + psn % 2, psn));
            deferred.add(other, read(1, 100 + psn));
        }
        assertThat(deferred.take(stream, request)).isFalse();
        stream.messageDone(0);
        for (int psn = 0; psn < 40; psn += 2) {
            assertThat(deferred.take(stream, request)).isTrue();
            assertThat(request.psn).isEqualTo(psn);
            assertThat(request.bytes).isEqualTo(100);
        }
        assertThat(deferred.take(stream, request)).isFalse();
        stream.messageDone(1);
        for (int psn = 1; psn < 40; psn += 2) {
            assertThat(deferred.take(stream, request)).isTrue();
            assertThat(request.psn).isEqualTo(psn);
        }
        assertThat(deferred.size()).isEqualTo(40);
        deferred.drop(connection);
        assertThat(deferred.size()).isZero();
    }

    @Test
    void allFieldsAreKept() {
        PullRequest in = read(-2, -3);
        in.opcode = Opcode.CMP_SWAP;
        in.ctx = 0xFEDC;
        in.path = 63;
        in.stream = 0xABCD;
        in.slot = 1023;
        in.msgOffset = 0x8000_0000L;
        in.length = 0xFFFF_FFFFL;
        in.bytes = 65_408;
        in.va = -8;
        in.rkey = -1;
        in.swapOrAdd = Long.MIN_VALUE;
        in.compare = 5;
        in.echoTime = -7;
        in.arrivalTime = -9;
        long[] row = new long[2 * PullRequest.WORDS];
        in.put(row, PullRequest.WORDS);
        PullRequest out = new PullRequest();
        out.get(row, PullRequest.WORDS);

        assertThat(out).usingRecursiveComparison().isEqualTo(in);
        assertThat(PullRequest.msn(row, PullRequest.WORDS)).isEqualTo(-2);
    }
}
