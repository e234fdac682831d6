package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.verbs.AsyncEvent;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Ecn;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** Case G04a: the network clears the ECN field, and the receiver notices. */
class EcnMissingTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int BYTES = 1 << 20;

    private static List<AsyncEvent> told(RdmaDevice device) {
        List<AsyncEvent> found = new ArrayList<>();
        for (AsyncEvent e = device.events().poll(); e != null; e = device.events().poll()) {
            if (e.type() == AsyncEventType.ECN_MISSING) {
                found.add(e);
            }
        }
        return found;
    }

    private static Pair pair(Lab.Fault fault) {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, BYTES).connect();
        // Events are kept from the first question on.
        assertThat(told(pair.server.device)).isEmpty();
        assertThat(told(pair.client.device)).isEmpty();
        pair.lab.addFault(fault);
        for (int i = 0; i < 3; i++) {
            pair.write(0, i, 0, BYTES);
        }
        pair.expectSends(3, SECOND);
        return pair;
    }

    //= MR-5.2-20
    @Test
    @DisplayName("G04a: cleared ECN fields are counted, and told once per connection")
    void g04ClearedFieldsAreCountedAndToldOnce() {
        Pair pair =
                pair(
                        packet -> {
                            packet.ecn = Ecn.NOT_ECT;
                            return 1;
                        });

        long accepted = pair.server.count(CounterId.DATA_ACCEPTED);
        assertThat(pair.server.count(CounterId.NOT_ECT_PACKETS)).isPositive().isEqualTo(accepted);
        List<AsyncEvent> events = told(pair.server.device);
        assertThat(events).hasSize(1);
        assertThat(events.getFirst().text()).contains("without ECN");
        // It got ACKs only, which nobody marks.
        assertThat(told(pair.client.device)).isEmpty();
        assertThat(pair.client.count(CounterId.NOT_ECT_PACKETS)).isZero();
    }

    //= MR-5.2-20
    @Test
    void aFieldThatArrivesOrCannotBeSeenIsNotMissed() {
        Pair pair =
                pair(
                        packet -> {
                            packet.ecn = packet.ecn == Ecn.ECT ? Ecn.CE : Ecn.UNKNOWN;
                            return 1;
                        });

        assertThat(pair.server.count(CounterId.NOT_ECT_PACKETS)).isZero();
        assertThat(pair.server.count(CounterId.CE_PACKETS)).isPositive();
        assertThat(told(pair.server.device)).isEmpty();
    }
}
