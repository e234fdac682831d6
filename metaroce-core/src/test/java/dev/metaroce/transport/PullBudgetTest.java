package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Room for replies of all leases of a device. */
class PullBudgetTest {
    private static final int MTU = 1024;
    private static final DeviceLimits LIMITS =
            DeviceLimits.defaults().toBuilder().payloadMtu(MTU).receiveWindowBytes(4096).build();

    @Test
    @DisplayName("MR-4.6-9: the overhead counts, and one reply may always be asked for")
    void admitsWhatFits() {
        PullBudget budget = new PullBudget(LIMITS.toBuilder().receiveWindowBytes(100).build());
        assertThat(budget.admits(MTU)).isTrue();
        budget.ask(0);
        assertThat(budget.admits(0)).isFalse();

        PullBudget larger = new PullBudget(LIMITS);
        larger.ask(MTU);
        larger.ask(MTU);
        assertThat(larger.admits(MTU - 512)).isTrue();
        assertThat(larger.admits(MTU - 511)).isFalse();
        larger.giveBack(TxLease.costBytes(MTU));
        assertThat(larger.admits(MTU)).isTrue();
    }

    @Test
    void whoWaitsIsWokenOnceThereIsRoomAndInOrder() {
        PullBudget budget = new PullBudget(LIMITS);
        TransportConnection first = connection(3);
        TransportConnection second = connection(1);
        budget.ask(MTU);
        budget.ask(MTU);
        budget.await(first);
        budget.await(second);
        budget.await(first);
        assertThat(budget.wakeable()).isZero();

        budget.giveBack(TxLease.costBytes(MTU));
        assertThat(budget.wakeable()).isEqualTo(2);
        assertThat(budget.poll()).isEqualTo(3);
        assertThat(budget.poll()).isEqualTo(1);
        assertThat(budget.wakeable()).isZero();
    }

    private static TransportConnection connection(int index) {
        TransportConnection made =
                TransportConnection.dialed(1, NetAddress.ofIpv4(1, 1), 1, new byte[0]);
        made.index = index;
        return made;
    }
}
