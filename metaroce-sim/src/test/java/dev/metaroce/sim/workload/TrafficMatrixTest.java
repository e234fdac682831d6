package dev.metaroce.sim.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;

import org.junit.jupiter.api.Test;

class TrafficMatrixTest {
    private static final String MATRIX =
            """
            Nodes 16
            Connections 4
            Triggers 2
            # one, then two at once, then one more
            0->1 id 11 start 0 size 2000000 send_done_trigger 1
            1->2 id 12 trigger 1 size 1000 send_done_trigger 2
            1->3 id 13 trigger 1 size 1001 recv_done_trigger 2

            2->0 id 14 trigger 2 size 5   # last
            trigger id 1 oneshot
            trigger id 2 barrier 2
            """;

    @Test
    void connectionsAndTriggersAreReadAsHtsimMeansThem() {
        FlowList flows = TrafficMatrix.parse("a.cm", MATRIX, 16);
        Started started = new Started();

        flows.start(started);
        assertThat(started.flows).containsExactly(new Started.Flow(0, 0, 1, 0, 2_000_000));
        started.take();
        flows.onFlowDone(0, 100, started);
        assertThat(started.flows)
                .containsExactly(
                        new Started.Flow(1, 1, 2, 100, 1000), new Started.Flow(2, 1, 3, 100, 1001));
        started.take();
        flows.onFlowDone(1, 200, started);
        assertThat(started.take()).isEmpty();
        flows.onFlowDone(2, 300, started);
        assertThat(started.flows).containsExactly(new Started.Flow(3, 2, 0, 300, 5));
        assertThat(flows.id(3)).isEqualTo(14);
        assertThat(flows.flows()).isEqualTo(4);
    }

    @Test
    void headersAndIdsMayBeAbsent() {
        FlowList flows = TrafficMatrix.parse("a.cm", "3->2 start 1000000 size 0\n", 4);

        assertThat(flows.startPs(0)).isEqualTo(1_000_000);
        assertThat(flows.id(0)).isZero();
    }

    @Test
    void aMultishotStartsOneAtATime() {
        FlowList flows =
                TrafficMatrix.parse(
                        "a.cm",
                        """
                        0->1 start 0 size 1 send_done_trigger 7
                        0->2 trigger 7 size 1 send_done_trigger 7
                        0->3 trigger 7 size 1
                        trigger id 7 multishot
                        """,
                        4);
        Started started = new Started();

        flows.start(started);
        flows.onFlowDone(0, 0, started);
        assertThat(started.take()).containsExactly(0, 1);
        flows.onFlowDone(1, 0, started);
        assertThat(started.take()).containsExactly(2);
    }

    @Test
    void whatIsWrongIsToldWithItsLine() {
        editRefused("Nodes 16", "Nodes 17", "1: Nodes 17: the topology has 16 hosts");
        editRefused(
                "Nodes 16", "Nodes x", "1: Nodes 'x' is no whole number in 0..8640000000000000000");
        editRefused("Nodes 16", "Nodes 16 17", "1: 'Nodes 16 17' is not: Nodes number");
        editRefused("Nodes 16", "Triggers 2", "3: Triggers is said twice");
        editRefused("Connections 4", "Connections 5", "2: Connections 5: the file lists 4");
        editRefused("Triggers 2", "Triggers 1", "3: Triggers 1: the file lists 2");
        editRefused("0->1 id", "0->0 id", "5: 0->0 sends to itself");
        editRefused("0->1 id", "0->16 id", "5: host '16' is no whole number in 0..15");
        editRefused(
                "0->1 id",
                "0-1 id",
                "5: '0-1 id 11 start 0 size 2000000 send_done_trigger 1' is"
                        + " not: source->destination start picoseconds size bytes");
        editRefused("0->1 id", "0->1 id 3 id", "5: id is said twice");
        editRefused(
                "id 14",
                "prio 14",
                "9: unknown word 'prio': known are id, start, size, trigger,"
                        + " send_done_trigger, recv_done_trigger");
        editRefused(
                "start 0",
                "start -1",
                "5: start '-1' is no whole number in 0..8640000000000000000");
        editRefused(
                "start 0",
                "start 9999999999999999999",
                "5: start '9999999999999999999' is no whole number in 0..8640000000000000000");
        editRefused("start 0", "", "5: should have either a start or a trigger");
        editRefused("start 0", "start 0 trigger 1", "5: should have either a start or a trigger");
        editRefused("size 2000000", "", "5: has no size");
        editRefused(
                "size 2000000", "size 2e6", "5: size '2e6' is no whole number in 0..1099511627776");
        editRefused(
                "barrier 2",
                "barrier 3",
                "9: would never start: too few connections set off trigger 2");
        editRefused(
                "barrier 2",
                "barrier",
                "11: 'trigger id 2 barrier' is not: trigger id number"
                        + " oneshot|multishot|barrier n");
        editRefused("barrier 2", "barrier 0", "11: barrier '0' is no whole number in 1..20000000");
        editRefused(
                "trigger id 1 o",
                "trigger 1 o",
                "10: 'trigger 1 oneshot' is not: trigger id number"
                        + " oneshot|multishot|barrier n");
        editRefused("trigger id 1 o", "trigger id 2 o", "11: trigger 2 is listed twice");
        editRefused(
                "trigger 1 size 1000",
                "trigger 3 size 1000",
                "6: trigger 3: no line lists it, as: trigger id 3 oneshot");
        editRefused(
                "Nodes 16",
                "failure 1",
                "1: 'failure 1' is not: source->destination start picoseconds size bytes");
    }

    private static void editRefused(String right, String wrong, String message) {
        assertThat(MATRIX).contains(right);
        assertThatThrownBy(() -> TrafficMatrix.parse("a.cm", MATRIX.replace(right, wrong), 16))
                .isInstanceOf(ConfigException.class)
                .hasMessage("a.cm:" + message);
    }

    @Test
    void aFileWithoutConnectionsIsRefused() {
        assertThatThrownBy(() -> TrafficMatrix.parse("a.cm", "", 16))
                .isInstanceOf(ConfigException.class)
                .hasMessage("a.cm:1: has no connections, as: 0->1 start 0 size 2000000");
    }
}
