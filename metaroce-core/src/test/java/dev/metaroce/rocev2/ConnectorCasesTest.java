package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.CmReject;
import dev.metaroce.wire.roce.PrivateData;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;

/** Cases W05 and C12 for the messages by which RoCEv2 connects. */
class ConnectorCasesTest extends ConnectorLab {
    private static final byte[] NONE = {};

    private final List<CmMessage> answers = new ArrayList<>();

    @BeforeEach
    void listenToTheServer() {
        lab.addFault(
                packet -> {
                    PacketMemory m = new PacketMemory(packet.bytes.length);
                    m.bytes().put(0, packet.bytes);
                    CmMessage message = CmMessage.parse(m, 0, packet.bytes.length);
                    if (packet.from == server && message != null) {
                        answers.add(message);
                    }
                    return 1;
                });
    }

    /**
     * InfiniBand has a reason for it (REJ 31) and room for the version that the refusing end knows.
     * Linux is silent instead, as no service of its MAD layer has the version; its peers wait then.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 255})
    @DisplayName("W05: a REQ of another version gets one refusal that names ours")
    void w05ARequestOfAnotherVersionIsRefused(int version) {
        serve(1);
        inject(new CmMessage.OtherReq(0x77L << 56, 99, version));
        lab.driveUntil(() -> false, SECOND_NS);

        assertThat(answers).hasSize(1);
        CmMessage.Rej refusal = (CmMessage.Rej) answers.get(0);
        assertThat(refusal.transactionId()).isEqualTo(0x77L << 56);
        assertThat(refusal.remoteId()).isEqualTo(99);
        assertThat(refusal.reason()).isEqualTo(31);
        assertThat(refusal.version()).isEqualTo(2);
        assertThat(server.count(CounterId.BAD_VERSION)).isEqualTo(1);
        assertThat(accepted).isEmpty();
    }

    /** What is no REQ asks for nothing: an answer could make two ends talk for ever. */
    @ParameterizedTest
    @CsvSource({"0, 2", "1, 8", "2, 1", "3, 0x81"})
    @DisplayName("W05: other management datagrams are counted, not answered")
    void w05OtherManagementIsNotAnswered(int at, String value) {
        serve(1);
        byte[] mad = mad(new CmMessage.OtherReq(1, 99, 1));
        if (at == 2) {
            mad[17] = 0x12; // a REJ of another version
        } else {
            mad[at] = (byte) (int) Integer.decode(value);
        }
        lab.deliverNow(client.address, server, packet(mad, client.address, server.address));
        lab.driveUntil(() -> false, SECOND_NS);

        assertThat(answers).isEmpty();
        assertThat(server.count(CounterId.MALFORMED)).isEqualTo(1);
    }

    @Test
    @DisplayName("W05: who is refused for its version says both versions")
    void w05WhoIsRefusedForItsVersionSaysBoth() {
        drop("Req", 1_000);
        Connection c = dial();
        lab.expect("asked", () -> !requests.isEmpty(), SECOND_NS);
        CmMessage.Req req = requests.get(0);
        byte[] mad =
                mad(
                        new CmMessage.Rej(
                                req.transactionId(),
                                0,
                                req.localId(),
                                CmMessage.Rej.REQ,
                                CmReject.VERSION.code(),
                                3,
                                PrivateData.of(NONE, CmMessage.REJ_PRIVATE_BYTES)));
        lab.deliverNow(server.address, client, packet(mad, server.address, client.address));
        expect(c, ConnectionState.FAILED, SECOND_NS);

        assertThat(c.failure()).endsWith("another version of connection management: 3, and we 2");
    }

    @Test
    @DisplayName("C12: the time to connect is kept when nobody answers")
    void c12TheTimeToConnectIsKept() {
        drop("Req", 1_000);
        assertEndsAfterTwoSeconds("no answer after");
    }

    @Test
    @DisplayName("C12: a refusal for want of a service is tried again, and named in the end")
    void c12WhatWasSeenIsNamed() {
        assertEndsAfterTwoSeconds("nobody listens for this service");
        assertThat(requests).hasSizeGreaterThan(5);
    }

    @Test
    @DisplayName("C12: the time that the peer's application thinks counts too")
    void c12WaitingCountsToo() {
        serve(held::add);
        assertEndsAfterTwoSeconds("has not decided");
        lab.expect("withdrawn", () -> held.get(0).isWithdrawn(), SECOND_NS);
    }

    private void assertEndsAfterTwoSeconds(String why) {
        long startNs = lab.nowNs();
        Connection c = dialFor(2 * SECOND_NS);
        expect(c, ConnectionState.FAILED, 10 * SECOND_NS);
        assertThat(lab.nowNs() - startNs).isEqualTo(2 * SECOND_NS);
        assertThat(c.failure()).contains("not connected within 2000 ms: ").contains(why);
    }

    private Connection dialFor(long timeoutNs) {
        Connection c = client.device.connect(server.address, SERVICE, NONE, timeoutNs);
        clientEnd.add(c);
        return c;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("C12: a server that comes after a second is found")
    void c12AServerThatComesInTimeIsFound(boolean refuses) {
        drop("Req", refuses ? 0 : 1_000);
        Connection c = dialFor(2 * SECOND_NS);
        lab.advance(SECOND_NS);
        assertThat(c.state()).isEqualTo(ConnectionState.CONNECTING);
        drop("none", 0);
        serve(1);

        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(0);
        lab.driveUntil(() -> false, 5 * SECOND_NS);
        assertThat(c.state()).isEqualTo(ConnectionState.OPEN);
    }

    /** Longer than 16 messages take, the most that are sent without a time to connect. */
    @Test
    @DisplayName("C12: a long time to connect is kept too")
    void c12ALongTimeToConnectIsKeptToo() {
        drop("Req", 1_000);
        Connection c = dialFor(200 * SECOND_NS);
        lab.advance(199 * SECOND_NS);
        assertThat(c.state()).isEqualTo(ConnectionState.CONNECTING);
        lab.advance(2 * SECOND_NS);
        assertThat(c.state()).isEqualTo(ConnectionState.FAILED);
    }

    /** Without a time to connect a refusal is the end. */
    @Test
    @DisplayName("C12: a server without room is asked again in the time to connect")
    void c12AServerThatHasRoomInTimeIsFound() {
        Lab.Node small =
                lab.addRoce(server.device.limits(), roce -> roce.toBuilder().maxQps(1).build());
        End end = new End(small);
        serve(small, end);
        Connection first = client.device.connect(small.address, SERVICE, NONE);
        clientEnd.add(first);
        expect(first, ConnectionState.OPEN, SECOND_NS);
        Connection hasty = client.device.connect(small.address, SERVICE, NONE);
        clientEnd.add(hasty);
        expect(hasty, ConnectionState.FAILED, SECOND_NS);
        assertThat(hasty.failure()).contains("no queue pair left");
        Connection second = client.device.connect(small.address, SERVICE, NONE, 10 * SECOND_NS);
        clientEnd.add(second);
        lab.advance(SECOND_NS);
        first.close();

        expect(second, ConnectionState.OPEN, 5 * SECOND_NS);
    }
}
