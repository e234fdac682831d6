package dev.metaroce.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Requests for connections that are answered at once, later, or never: section 3.9. */
class ConnectionRequestTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long SERVICE = 7;
    private static final byte[] NONE = {};

    private final Lab lab = new Lab(1);
    private final Lab.Node server = lab.add(DeviceLimits.defaults());
    private final Lab.Node client = lab.add(DeviceLimits.defaults());
    private final List<ConnectionRequest> kept = new ArrayList<>();

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private Connection dial() {
        return client.device.connect(server.address, SERVICE, bytes("hello"));
    }

    private Connection dialAndKeep() {
        server.device.listen(SERVICE, kept::add);
        Connection dialled = dial();
        lab.expect("offered", () -> kept.size() == 1, SECOND);
        return dialled;
    }

    private void expect(Connection connection, ConnectionState state) {
        lab.expect(state.name(), () -> connection.state() == state, SECOND);
    }

    private void failures(int packets) {
        lab.addFault(
                packet ->
                        RawPacket.is(packet.bytes, ControlOpcode.DENY) && packets > dropped++
                                ? 0
                                : 1);
    }

    private int dropped;

    // MR-3.9-2, MR-3.9-3
    @Test
    void acceptedLaterWithWorkPostedBefore() {
        Connection dialled = dialAndKeep();
        ConnectionRequest request = kept.get(0);
        assertThat(request.privateData()).isEqualTo(bytes("hello"));
        assertThat(request.peer().sameHost(client.address)).isTrue();
        ProtectionDomain domain = server.device.allocProtectionDomain();
        MemoryRegion nothing = domain.register(Arena.ofAuto().allocate(8), 0);
        CompletionQueue queue = server.device.createCompletionQueue(8);
        QueuePair pair = request.connection().createQueuePair(domain, queue, queue, 4, 4);
        CompletionQueue there = client.device.createCompletionQueue(8);
        dialled.createQueuePair(client.device.allocProtectionDomain(), there, there, 4, 4)
                .postReceive(5);
        pair.postSend(1, nothing, 0, 0);
        lab.advance(3 * SECOND);
        assertThat(dialled.state()).as("it waits").isEqualTo(ConnectionState.CONNECTING);
        assertThat(client.count(CounterId.REQUESTS_SENT)).as("asked again").isGreaterThan(10);
        assertThat(server.count(CounterId.REQUESTS_SENT)).as("nothing goes before").isZero();
        assertThat(kept).as("offered once").hasSize(1);

        request.accept(bytes("welcome"));
        expect(dialled, ConnectionState.OPEN);
        assertThat(dialled.peerPrivateData()).isEqualTo(bytes("welcome"));
        assertThat(request.connection().state()).isEqualTo(ConnectionState.OPEN);
        WorkCompletion wc = new WorkCompletion();
        assertThat(there.await(wc, SECOND)).isTrue();
        assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
        assertThatThrownBy(request::accept)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("answered before");
    }

    // MR-3.9-1
    @Test
    void rejectedWithAReason() {
        server.device.listen(SERVICE, request -> request.reject(bytes("not before noon")));
        Connection dialled = dial();
        expect(dialled, ConnectionState.FAILED);
        assertThat(dialled.failure())
                .contains("the peer's service refused the connection: \"not before noon\"");
        assertThat(dialled.peerPrivateData()).isEqualTo(bytes("not before noon"));
    }

    @Test
    void rejectedLaterWithTheMostOfPrivateData() {
        Connection dialled = dialAndKeep();
        lab.advance(SECOND);
        byte[] why = new byte[64];
        why[63] = (byte) 0xC0;
        ConnectionRequest request = kept.get(0);
        assertThatThrownBy(() -> request.reject(new byte[65]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("private data of 65 bytes: at most 64");
        request.reject(why);
        expect(dialled, ConnectionState.FAILED);
        assertThat(dialled.peerPrivateData()).isEqualTo(why);
        assertThat(dialled.failure()).contains("refused the connection: 0x0000").contains("00c0");
        assertThat(request.connection().state()).isEqualTo(ConnectionState.CLOSED);
    }

    /** The answer is lost: the dialler asks anew, and so does the service. */
    @Test
    void aLostRejectionIsAskedForAgain() {
        failures(1);
        server.device.listen(
                SERVICE,
                request -> {
                    kept.add(request);
                    request.reject(bytes("no"));
                });
        Connection dialled = dial();
        expect(dialled, ConnectionState.FAILED);
        assertThat(dialled.failure()).contains("\"no\"");
        assertThat(kept).hasSize(2);
    }

    // MR-3.9-4
    @Test
    void nobodyAnswers() {
        Connection dialled = dialAndKeep();
        lab.advance(9 * SECOND);
        assertThat(dialled.state()).isEqualTo(ConnectionState.CONNECTING);
        lab.advance(2 * SECOND);
        assertThat(dialled.state()).isEqualTo(ConnectionState.FAILED);
        assertThat(dialled.failure()).contains("refused");
        assertThat(kept.get(0).isWithdrawn()).isTrue();
        assertThat(kept.get(0).accept().state()).isEqualTo(ConnectionState.CLOSED);
        expectNothingLeft();
    }

    @Test
    void theDiallerGoesAway() {
        Connection dialled = dialAndKeep();
        dialled.close();
        lab.advance(SECOND);
        assertThat(kept.get(0).isWithdrawn()).isTrue();
        kept.get(0).accept();
        lab.advance(SECOND);
        assertThat(kept.get(0).connection().state()).isEqualTo(ConnectionState.CLOSED);
        expectNothingLeft();
    }

    @Test
    void theDiallerDies() {
        dialAndKeep();
        client.kill();
        lab.advance(3 * SECOND);
        assertThat(kept.get(0).isWithdrawn()).isTrue();
        expectNothingLeft();
    }

    /** Closing an unanswered connection is a rejection. */
    @Test
    void closedInsteadOfAnswered() {
        Connection dialled = dialAndKeep();
        kept.get(0).connection().close();
        expect(dialled, ConnectionState.FAILED);
        assertThat(dialled.failure()).contains("refused");
        expectNothingLeft();
    }

    private void expectNothingLeft() {
        lab.advance(SECOND);
        assertThat(server.device.contextsInUse()).isZero();
        assertThat(server.engine.nextDeadlineNs()).as("no timer").isEqualTo(Long.MAX_VALUE);
    }

    // MR-3.9-4
    @Test
    void noMoreThanSoManyWait() {
        server.device.listen(SERVICE, kept::add);
        List<Connection> dialled = new ArrayList<>();
        for (int i = 0; i < 1030; i++) {
            dialled.add(dial());
        }
        lab.advance(SECOND);
        assertThat(kept.stream().filter(r -> !r.isWithdrawn())).hasSize(1024);
        assertThat(dialled.stream().filter(c -> c.state() == ConnectionState.CONNECTING))
                .as("the others ask on")
                .hasSize(1030);
    }

    @Test
    void aListenerIsAskedInOrderAndItsBacklogHolds() {
        Listener listener = server.device.listen(SERVICE, 2);
        List<Connection> dialled = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            dialled.add(client.device.connect(server.address, SERVICE, new byte[] {(byte) i}));
        }
        lab.advance(SECOND);
        List<Integer> served = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            ConnectionRequest request = listener.accept(2 * SECOND);
            assertThat(request).isNotNull();
            served.add((int) request.privateData()[0]);
            request.accept();
        }
        assertThat(served.subList(0, 2)).containsExactly(0, 1);
        assertThat(served).as("nobody is turned away").containsExactlyInAnyOrder(0, 1, 2, 3);
        dialled.forEach(c -> expect(c, ConnectionState.OPEN));
        assertThat(listener.accept(SECOND)).isNull();
    }

    @Test
    void aClosedListenerRejectsWhoWaits() {
        Listener listener = server.device.listen(SERVICE, 2);
        Connection first = dial();
        lab.advance(SECOND);
        listener.close();
        expect(first, ConnectionState.FAILED);
        assertThatThrownBy(() -> listener.accept(SECOND))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the listener of service 7 is closed");
        Connection second = dial();
        lab.advance(5 * SECOND);
        assertThat(second.failure()).contains("NO_SERVICE");
    }

    // MR-3.9-5
    @Test
    void c12TheTimeToConnectIsKept() {
        lab.addFault(packet -> 0);
        assertEndsAfterTwoSeconds("no answer: is the peer running");
    }

    // MR-3.9-5
    @Test
    void c12WhatWasSeenIsNamed() {
        assertEndsAfterTwoSeconds("the peer has no service 7");
    }

    // MR-3.9-5
    @Test
    void c12WaitingCountsToo() {
        server.device.listen(SERVICE, kept::add);
        assertEndsAfterTwoSeconds("has not decided");
        lab.advance(SECOND);
        assertThat(kept.get(0).isWithdrawn()).isTrue();
    }

    private void assertEndsAfterTwoSeconds(String why) {
        long startNs = lab.nowNs();
        Connection dialled = client.device.connect(server.address, SERVICE, NONE, 2 * SECOND);
        lab.driveUntil(() -> dialled.state() == ConnectionState.FAILED, 10 * SECOND);
        assertThat(lab.nowNs() - startNs).isEqualTo(2 * SECOND);
        assertThat(dialled.failure()).contains("not connected within 2000 ms: ").contains(why);
    }

    @Test
    void c12AServerThatComesInTimeIsFound() {
        Connection dialled = client.device.connect(server.address, SERVICE, NONE, 2 * SECOND);
        lab.advance(SECOND);
        server.device.listen(SERVICE, ConnectionRequest::accept);
        expect(dialled, ConnectionState.OPEN);
        lab.advance(5 * SECOND);
        assertThat(dialled.state()).isEqualTo(ConnectionState.OPEN);
    }

    /** Longer than the give-up time: silence is no reason to end before. */
    @Test
    void c12ALongTimeToConnectIsKeptToo() {
        lab.addFault(packet -> 0);
        Connection dialled = client.device.connect(server.address, SERVICE, NONE, 20 * SECOND);
        lab.advance(19 * SECOND);
        assertThat(dialled.state()).isEqualTo(ConnectionState.CONNECTING);
        lab.advance(2 * SECOND);
        assertThat(dialled.state()).isEqualTo(ConnectionState.FAILED);
    }
}
