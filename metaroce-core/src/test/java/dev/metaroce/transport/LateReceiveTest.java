package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** A receive that is posted after the first packets of its message came. */
class LateReceiveTest {
    private static final long MS = 1_000_000;
    private static final int BYTES = 1 << 20;

    /**
     * All packets on the way are refused for want of a receive; then the receive is there, and
     * second copies of the same packets are accepted. The rest of the message must follow, although
     * nothing is left that the pause was for.
     */
    @Test
    void theRestOfAMessageFollowsWhenCopiesOfRefusedPacketsAreAccepted() {
        Pair pair = new Pair(1, Profiles.only(Profile.M).maxPaths(1).build(), 1, BYTES).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        List<Lab.Packet> copies = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        copies.add(pair.lab.copy(packet, packet.bytes.clone()));
                    }
                    return 1;
                });
        pair.send(0, 1, 0, BYTES);
        pair.lab.expect(
                "everything is refused",
                () ->
                        !copies.isEmpty()
                                && pair.client.count(CounterId.NAKS_RECEIVED) == copies.size(),
                10 * MS);
        pair.lab.heal();

        pair.receive(0, 2, 0, BYTES);
        for (Lab.Packet copy : copies) {
            copy.delayNs = 1_000;
            pair.lab.inject(copy);
        }

        pair.expectReceives(1, 1_000 * MS);
        pair.expectSends(1, 10 * MS);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }
}
