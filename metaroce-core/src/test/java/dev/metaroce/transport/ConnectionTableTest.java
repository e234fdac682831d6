package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.EventSink;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Finding connections by their peer, without looking at all of them. */
class ConnectionTableTest {
    private static ConnectionTable table() {
        Rng rng = new Rng(1);
        return new ConnectionTable(
                new DeviceState(
                        DeviceLimits.defaults(),
                        new EndpointIdentity(1, 1),
                        rng,
                        rng::nextInt,
                        EventSink.NONE));
    }

    private static NetAddress address(int host, int port) {
        return NetAddress.ofIpv4(host, port);
    }

    /** MR-3.4-3, against a look at every connection. */
    @Seeded(cases = 100)
    void olderIncarnationsAreFound(long seed) {
        Rng rng = new Rng(seed);
        ConnectionTable table = table();
        List<TransportConnection> all = new ArrayList<>();
        for (int step = 0; step < 300; step++) {
            NetAddress source = address(rng.nextInt(3), rng.nextInt(3));
            long endpoint = rng.nextInt(5);
            int incarnation = rng.nextInt(5) - 2;
            switch (rng.nextInt(4)) {
                case 0, 1 -> {
                    TransportConnection c =
                            new TransportConnection(step, rng.chance(0.5), source, 1);
                    table.bind(c, endpoint, incarnation);
                    c.established = rng.chance(0.8);
                    all.add(c);
                }
                case 2 -> {
                    if (!all.isEmpty()) {
                        TransportConnection c = all.get(rng.nextInt(all.size()));
                        if (rng.chance(0.5)) {
                            table.move(c, source);
                        } else {
                            table.bind(c, endpoint, incarnation);
                        }
                    }
                }
                default -> {
                    if (!all.isEmpty()) {
                        table.unbind(all.remove(rng.nextInt(all.size())));
                    }
                }
            }
            Set<TransportConnection> want = new LinkedHashSet<>();
            for (TransportConnection c : all) {
                boolean same = c.peer.equals(source) || c.peerEndpointId == endpoint;
                if (same && c.established && incarnation - c.peerIncarnation > 0) {
                    want.add(c);
                }
                assertThat(table.find(c.peerEndpointId, c.connectionId, c.dialer)).isSameAs(c);
            }
            assertThat(new LinkedHashSet<>(table.older(source, endpoint, incarnation)))
                    .containsExactlyInAnyOrderElementsOf(want);
        }
    }

    /** MR-3.6-8. */
    @Test
    void aDialledConnectionIsFoundByItsIdUntilItsPeerIsKnown() {
        ConnectionTable table = table();
        TransportConnection c = new TransportConnection(17, true, address(1, 50_791), 1);
        table.dial(c);
        assertThat(table.dialledTo(address(1, 4_000), 17)).isSameAs(c);
        assertThat(table.dialledTo(address(2, 50_791), 17)).isNull();
        assertThat(table.dialledTo(address(1, 50_791), 18)).isNull();
        table.bind(c, 5, 1);
        assertThat(table.dialledTo(address(1, 50_791), 17)).isNull();
        assertThat(table.find(5, 17, true)).isSameAs(c);

        TransportConnection given = new TransportConnection(18, true, address(1, 50_791), 1);
        table.dial(given);
        table.unbind(given);
        assertThat(table.dialledTo(address(1, 50_791), 18)).isNull();
    }
}
