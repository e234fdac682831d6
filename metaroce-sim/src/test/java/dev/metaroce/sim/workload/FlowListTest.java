package dev.metaroce.sim.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;

import org.junit.jupiter.api.Test;

class FlowListTest {
    private final FlowList.Builder builder = FlowList.builder("test", 4);
    private final Started started = new Started();

    @Test
    void flowsThatWaitForNothingStartAtTheirTimes() {
        builder.add(0, 1, 5, 100);
        builder.add(2, 3, 0, 200);
        FlowList list = builder.build();

        list.start(started);

        assertThat(list.flows()).isEqualTo(2);
        assertThat(started.flows)
                .containsExactly(
                        new Started.Flow(0, 0, 1, 5, 100), new Started.Flow(1, 2, 3, 0, 200));
    }

    @Test
    void aBarrierStartsAllThatWaitWhenTheLastOfItsFlowsIsDone() {
        int barrier = builder.addBarrier(2);
        builder.setsOff(builder.add(0, 1, 0, 1), barrier);
        builder.setsOff(builder.add(1, 2, 0, 1), barrier);
        builder.addTriggered(2, 3, barrier, 7);
        builder.addTriggered(3, 0, barrier, 8);
        FlowList list = builder.build();

        list.start(started);
        assertThat(started.take()).containsExactly(0, 1);
        list.onFlowDone(1, 10, started);
        assertThat(started.take()).isEmpty();
        list.onFlowDone(0, 20, started);
        assertThat(started.flows)
                .containsExactly(
                        new Started.Flow(2, 2, 3, 20, 7), new Started.Flow(3, 3, 0, 20, 8));
    }

    @Test
    void aMultishotStartsTheNextEachTime() {
        int multishot = builder.addMultishot();
        builder.setsOff(builder.add(0, 1, 0, 1), multishot);
        builder.setsOff(builder.addTriggered(1, 2, multishot, 1), multishot);
        builder.setsOff(builder.addTriggered(2, 3, multishot, 1), multishot);
        FlowList list = builder.build();

        list.start(started);
        assertThat(started.take()).containsExactly(0);
        list.onFlowDone(0, 0, started);
        assertThat(started.take()).containsExactly(1);
        list.onFlowDone(1, 0, started);
        assertThat(started.take()).containsExactly(2);
        list.onFlowDone(2, 0, started);
        assertThat(started.take()).isEmpty();
    }

    @Test
    void aWorkloadCanBeStartedAgain() {
        int barrier = builder.addBarrier(1);
        builder.setsOff(builder.add(0, 1, 0, 1), barrier);
        builder.addTriggered(1, 0, barrier, 1);
        FlowList list = builder.build();

        for (int run = 0; run < 2; run++) {
            list.start(started);
            list.onFlowDone(0, 3, started);
            assertThat(started.take()).containsExactly(0, 1);
        }
    }

    @Test
    void aFlowThatWouldWaitForEverIsRefused() {
        int cycle = builder.addBarrier(1);
        builder.add(0, 1, 0, 1);
        builder.id(builder.addTriggered(1, 0, cycle, 1), 17);
        builder.setsOff(1, cycle);

        assertThatThrownBy(builder::build)
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "workload test: flow 17 would never start: too few set off its trigger");
    }
}
