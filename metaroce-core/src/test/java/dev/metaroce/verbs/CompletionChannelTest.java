package dev.metaroce.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.Test;

/** Waiting for completions, in virtual time: the waiting thread drives both engines. */
class CompletionChannelTest {
    private static final long SECOND = 1_000_000_000L;

    private final Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 4096).connect();
    private final RdmaDevice device = pair.client.device;
    private final CompletionChannel channel = device.createCompletionChannel();
    private final CompletionQueue first = device.createCompletionQueue(8, channel);
    private final CompletionQueue second = device.createCompletionQueue(8, channel);
    private final WorkCompletion wc = new WorkCompletion();

    private QueuePair pairOn(CompletionQueue queue) {
        Pair.End end = pair.clientEnd;
        QueuePair made = end.connection.createQueuePair(end.domain, queue, queue, 4, 4);
        // The same stream at the other end.
        Pair.End other = pair.serverEnd;
        other.connection.createQueuePair(other.domain, other.sendQueue, other.receiveQueue, 4, 4);
        return made;
    }

    private void write(QueuePair from, long wrId) {
        MemoryRegion to = pair.serverEnd.region;
        Pair.must(wrId, from.postWrite(wrId, pair.clientEnd.region, 0, 8, to.address(), to.rkey()));
    }

    @Test
    void theChannelTellsWhichArmedQueueHasACompletion() {
        QueuePair onFirst = pairOn(first);
        QueuePair onSecond = pairOn(second);
        first.requestNotify();
        second.requestNotify();
        assertThat(channel.poll()).isNull();
        write(onSecond, 2);
        assertThat(channel.take(SECOND)).isSameAs(second);
        assertThat(second.poll(wc)).isTrue();
        assertThat(wc.wrId()).isEqualTo(2);
        write(onFirst, 1);
        assertThat(channel.take(SECOND)).isSameAs(first);
        assertThat(first.poll(wc)).isTrue();
        assertThat(channel.poll()).as("one event for each arming").isNull();
    }

    @Test
    void aQueueThatIsNotArmedSaysNothing() {
        QueuePair onFirst = pairOn(first);
        write(onFirst, 1);
        assertThat(channel.take(SECOND)).isNull();
        assertThat(first.size()).isOne();
        first.requestNotify();
        assertThat(channel.take(SECOND)).as("it came before the arming").isNull();
        write(onFirst, 2);
        assertThat(channel.take(SECOND)).isSameAs(first);
        assertThat(first.size()).isEqualTo(2);
    }

    @Test
    void bothQueuesAreToldInTheOrderOfTheirCompletions() {
        QueuePair onFirst = pairOn(first);
        QueuePair onSecond = pairOn(second);
        first.requestNotify();
        second.requestNotify();
        write(onSecond, 2);
        pair.lab.expect("second", () -> second.size() == 1, SECOND);
        write(onFirst, 1);
        pair.lab.expect("first", () -> first.size() == 1, SECOND);
        assertThat(channel.poll()).isSameAs(second);
        assertThat(channel.poll()).isSameAs(first);
        assertThat(channel.poll()).isNull();
    }

    @Test
    void awaitReturnsTheNextCompletionOrGivesUp() {
        long before = pair.lab.nowNs();
        assertThat(pair.clientEnd.sendQueue.await(wc, SECOND)).isFalse();
        assertThat(pair.lab.nowNs() - before).isLessThanOrEqualTo(SECOND);
        pair.write(0, 7, 0, 4096);
        assertThat(pair.clientEnd.sendQueue.await(wc, SECOND)).isTrue();
        assertThat(wc.wrId()).isEqualTo(7);
        pair.write(0, 8, 0, 4096);
        pair.lab.expect("done", () -> pair.clientEnd.sendQueue.size() == 1, SECOND);
        assertThat(pair.clientEnd.sendQueue.await(wc, 0))
                .as("what is there, without time")
                .isTrue();
    }

    @Test
    void wrongUseIsNamed() {
        assertThatThrownBy(() -> first.await(wc, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has a channel: wait with CompletionChannel.take");
        assertThatThrownBy(() -> pair.clientEnd.sendQueue.requestNotify())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has no channel");
        assertThatThrownBy(() -> pair.server.device.createCompletionQueue(8, channel))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("belongs to another device");
    }
}
