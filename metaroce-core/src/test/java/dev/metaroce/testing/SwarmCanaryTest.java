package dev.metaroce.testing;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;

/** The oracles of the swarm notice what they are there for: each is shown one fault. */
class SwarmCanaryTest {
    /** A plan of one initiator on an otherwise quiet network. */
    private static SwarmPlan quietPlan() {
        for (long seed = 1; ; seed++) {
            SwarmPlan plan = new SwarmPlan(seed);
            boolean quiet =
                    plan.loss == 0
                            && plan.corrupted == 0
                            && plan.blackRoute < 0
                            && plan.killed == 0
                            && plan.outageNs == 0;
            if (quiet
                    && plan.initiators == 1
                    && !plan.bothWays
                    && !plan.selfConnect
                    && !plan.lateReceives
                    && plan.profile == Profile.M
                    && plan.messages > 20
                    && plan.maxLength > 2_000) {
                return plan;
            }
        }
    }

    private static void expectCaught(Swarm swarm, String objection) {
        assertThatThrownBy(swarm::run)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining(objection);
    }

    @Test
    void aChangedByteIsNoticed() {
        Swarm swarm = new Swarm(quietPlan());
        int[] packets = new int[1];
        swarm.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes) && packet.bytes.length > 200) {
                        if (++packets[0] == 5) {
                            packet.bytes[packet.bytes.length - 20] ^= 1;
                            RawPacket.seal(packet.bytes);
                        }
                    }
                    return 1;
                });

        expectCaught(swarm, "is not what was sent");
    }

    /** Data of one path is lost for good, and the acknowledgements say that it came. */
    @Test
    void aForgedAcknowledgementIsNoticed() {
        Swarm swarm = new Swarm(quietPlan());
        int[] next = new int[1];
        boolean[] known = new boolean[1];
        swarm.lab.addFault(
                packet -> {
                    boolean first = RawPacket.path(packet.bytes) == 0;
                    if (RawPacket.is(packet.bytes, PacketType.PROBE) && first) {
                        next[0] = RawPacket.psn(packet.bytes);
                        known[0] = true;
                    }
                    if (RawPacket.isAck(packet.bytes) && known[0]) {
                        forge(packet.bytes, next[0]);
                    }
                    return RawPacket.isData(packet.bytes) && first ? 0 : 1;
                });

        // The sender is content; the receives of the lost messages never complete.
        expectCaught(swarm, "not everything completed");
    }

    private static void forge(byte[] ack, int cumPsn) {
        PacketMemory memory = new PacketMemory(ack.length);
        memory.bytes().put(0, ack);
        int record = AckHeader.firstRecord(0);
        for (int i = 0; i < AckHeader.count(memory, 0); i++) {
            if (AckHeader.path(memory, record) == 0) {
                ByteBuffer.wrap(ack).putInt(record + 4, cumPsn);
            }
            record = AckHeader.nextRecord(memory, record);
        }
        RawPacket.seal(ack);
    }
}
