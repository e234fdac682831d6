package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.SharedReceiveQueue;
import dev.metaroce.wire.roce.Syndrome;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** What acknowledgements tell of posted receives, and what a sender makes of it. */
class RoceCreditsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int MTU = 1024;
    private static final int PACKETS = 10;
    private static final int BYTES = PACKETS * MTU;

    private final Pair pair =
            Pair.ofRoce(3, RocePackets.mtu(MTU), UnaryOperator.identity(), 0, BYTES);
    private final List<Integer> told = new ArrayList<>();

    private void connect(QueuePairOptions client, QueuePairOptions server) {
        pair.addStream(client, server);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(
                packet -> {
                    if (RocePackets.isAck(packet)) {
                        told.add(RocePackets.syndrome(packet));
                    }
                    return 1;
                });
    }

    private void connect() {
        Pair.End client = pair.clientEnd;
        Pair.End server = pair.serverEnd;
        connect(
                QueuePairOptions.of(client.sendQueue, client.receiveQueue).rnrRetry(7).build(),
                QueuePairOptions.of(server.sendQueue, server.receiveQueue)
                        .minRnrTimerUs(10_000)
                        .build());
    }

    private void receives(int count) {
        for (int i = 0; i < count; i++) {
            pair.receive(0, i, 0, BYTES);
        }
    }

    /** Tells the client how many receives are left, by a message that takes one. */
    private void tell(int left) {
        receives(left + 1);
        pair.send(0, 0, 0, BYTES);
        pair.expectSends(1, SECOND);
        assertThat(Syndrome.credits(told.getLast())).isEqualTo(left);
    }

    @Test
    void beforeAnythingIsToldNothingIsHeldBack() {
        connect();
        receives(3);
        for (int i = 0; i < 3; i++) {
            pair.send(0, i, 0, BYTES);
        }
        pair.lab.advance(0);

        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(3 * PACKETS);
    }

    /** Two are sent whole, and one packet of the third, which finds no receive. */
    @Test
    void aMessageBeyondTheCreditsIsTriedWithOnePacket() {
        connect();
        tell(2);
        for (int i = 1; i <= 4; i++) {
            pair.send(0, i, 0, BYTES);
        }
        pair.lab.advance(5 * MS);

        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(3 * PACKETS + 1);
        assertThat(pair.server.count(CounterId.RNR_NAKS_SENT)).isEqualTo(1);
        receives(2);
        pair.expectSends(5, SECOND);
        assertThat(pair.server.count(CounterId.OUT_OF_SEQUENCE)).isZero();
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isEqualTo(1);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** A receive that was posted after the last acknowledgement is found by the first packet. */
    @Test
    void theFirstPacketLearnsOfNewReceives() {
        connect();
        tell(0);
        receives(2);
        pair.send(0, 1, 0, BYTES);
        pair.send(0, 2, 0, BYTES);
        pair.expectSends(3, SECOND);

        assertThat(pair.server.count(CounterId.RNR_NAKS_SENT)).isZero();
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
    }

    /** Only what takes a receive waits for one. */
    @Test
    void writesNeedNoCredit() {
        connect();
        tell(0);
        pair.write(0, 1, 0, BYTES);
        pair.lab.advance(0);

        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(2 * PACKETS);
        pair.expectSends(2, SECOND);
    }

    /** Receives that other queue pairs may take as well are no promise. */
    @Test
    void sharedReceivesGiveNoCredits() {
        SharedReceiveQueue shared =
                pair.server.device.createSharedReceiveQueue(pair.serverEnd.domain, 64, 2, 0);
        Pair.End client = pair.clientEnd;
        Pair.End server = pair.serverEnd;
        connect(
                QueuePairOptions.of(client.sendQueue, client.receiveQueue).rnrRetry(7).build(),
                QueuePairOptions.of(server.sendQueue, server.receiveQueue)
                        .sharedReceiveQueue(shared)
                        .build());
        pair.write(0, 1, 0, BYTES);
        pair.expectSends(1, SECOND);

        assertThat(told).isNotEmpty().containsOnly(Syndrome.ACK_NO_CREDITS);
    }
}
