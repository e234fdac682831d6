package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Lab;
import dev.metaroce.verbs.Connection;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** Peers that die without a word leave nothing behind for ever. */
class DeadPeersTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long SERVICE = 7;

    /**
     * As many connections as the server may hold, all by peers that died, give way to a new one.
     */
    @Test
    void connectionsOfDeadPeersGiveWayWhenTheTableIsFull() {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().maxConnections(4).build();
        Lab lab = new Lab(1);
        Lab.Node server = lab.add(limits);
        server.device.listen(SERVICE, request -> request.accept(request.privateData()));
        List<Connection> dead = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Lab.Node client = lab.add(limits);
            dead.add(client.device.connect(server.address, SERVICE, new byte[0]));
            Connection last = dead.get(i);
            lab.expect("connected", () -> last.state() == ConnectionState.OPEN, SECOND);
            client.kill();
        }
        lab.advance(10 * SECOND);
        Connection next = lab.add(limits).device.connect(server.address, SERVICE, new byte[0]);
        lab.expect("the newcomer is served", () -> next.state() == ConnectionState.OPEN, SECOND);
        assertThat(server.device.contextsInUse()).isEqualTo(1);
    }
}
