package dev.metaroce.tools.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.EventId;
import dev.metaroce.tools.cli.Terminal;

import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;

class LifeLineTest {
    private static final long MS = 1_000_000;

    private final StringWriter text = new StringWriter();
    private final LifeLine lifeLine =
            new LifeLine(new Terminal(new PrintWriter(text), false), false);

    @Test
    void eventsOfBothProcessesAreShownInOrderOfTime() {
        lifeLine.senderSink().onEvent(103 * MS, EventId.LEASE_OPENED, 1, 5, 9);
        lifeLine.accept(LifeLine.encode(102 * MS, EventId.CID_GRANTED, 4711, 5, 9));
        lifeLine.senderSink().onEvent(101 * MS, EventId.LEASE_REQUESTED, 1, 77, 1);

        lifeLine.showAll();

        assertThat(text.toString().lines())
                .satisfiesExactly(
                        line -> assertThat(line).contains("0.00 ms  sender    REQUEST"),
                        line -> assertThat(line).contains("1.00 ms  receiver  GRANT    cid 5"),
                        line -> assertThat(line).contains("2.00 ms  sender    OPEN"));
    }

    @Test
    void anEventIsHeldBackUntilEarlierOnesCanNoLongerCome() {
        lifeLine.senderSink().onEvent(101 * MS, EventId.LEASE_REQUESTED, 1, 77, 1);

        lifeLine.showUntil(340 * MS);
        assertThat(text.toString()).isEmpty();
        lifeLine.showUntil(360 * MS);
        assertThat(text.toString()).contains("REQUEST");
    }

    @Test
    void lossesAndForeignLinesAreNotShown() {
        assertThat(LifeLine.encode(1, EventId.PACKET_LOST, 0, 1, 2)).isEmpty();
        assertThat(lifeLine.accept("something else")).isFalse();
    }

    @Test
    void aStormOfEventsIsCutShort() {
        for (int i = 0; i < 100; i++) {
            lifeLine.senderSink().onEvent((101 + i) * MS, EventId.LEASE_REQUESTED, 1, 77, i);
        }

        lifeLine.showAll();

        assertThat(text.toString().lines()).hasSize(25);
        assertThat(text.toString()).contains("... and 76 more events");
    }

    @Test
    void everyEventHasWordsOrIsMeantToHaveNone() {
        for (EventId id : EventId.values()) {
            String line = LifeLine.encode(1, id, 1, 2, 3);
            if (id == EventId.PACKET_LOST || id == EventId.WORK_COMPLETED) {
                assertThat(line).isEmpty();
            } else {
                assertThat(lifeLine.accept(line)).isTrue();
            }
        }
    }
}
