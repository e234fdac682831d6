package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.Test;

import java.util.function.UnaryOperator;

/** Each operation between two queue pairs that were connected by hand. */
class RoceOperationsTest {
    private static final long SECOND_NS = 1_000_000_000L;

    private static Pair pair(int mtu, int bytes) {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().payloadMtu(mtu).build();
        Pair pair = Pair.ofRoce(1, limits, UnaryOperator.identity(), 1, bytes).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    @Test
    void aWriteArrives() {
        Pair pair = pair(1024, 10_000);

        pair.write(0, 1, 0, 10_000);
        pair.expectSends(1, SECOND_NS);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(10);
        assertThat(pair.client.count(CounterId.ACKS_RECEIVED)).isEqualTo(1);
    }

    @Test
    void aSendFillsAReceive() {
        Pair pair = pair(256, 1000);

        pair.receive(0, 5, 0, 1000);
        pair.send(0, 1, 0, 1000);
        pair.expectSends(1, SECOND_NS);
        pair.expectReceives(1, SECOND_NS);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.serverEnd.receives.get(0).opcode()).isEqualTo(WcOpcode.RECEIVE);
        assertThat(pair.serverEnd.receives.get(0).byteLength()).isEqualTo(1000);
    }

    @Test
    void aReadBringsWhatIsThere() {
        Pair pair = pair(256, 5000);
        pair.serverEnd.fill(pair.lab.rng("server"));
        Reader reader = new Reader(pair, 5000);

        reader.read(0, 1, 0, 5000);
        pair.expectSends(1, SECOND_NS);

        assertThat(reader.mismatch(5000)).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.REPLIES_RECEIVED)).isEqualTo(20);
    }

    @Test
    void atomicsGiveTheValueBefore() {
        Pair pair = pair(1024, 64);
        Reader reader = new Reader(pair, 64);
        reader.remoteWord(8, 40);

        reader.add(0, 1, 0, 8, 2);
        reader.swap(0, 2, 8, 8, 42, 7);
        reader.swap(0, 3, 16, 8, 42, 9);
        pair.expectSends(3, SECOND_NS);

        assertThat(reader.word(0)).isEqualTo(40);
        assertThat(reader.word(8)).isEqualTo(42);
        assertThat(reader.word(16)).isEqualTo(7);
        assertThat(reader.remoteWord(8)).isEqualTo(7);
    }
}
