package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The table of connections by key against a map. */
class ConnectionKeysTest {
    private static final NetAddress PEER = NetAddress.ofIpv4(0x0A00_0001, 50_791);

    private record Key(long endpointId, long connectionId, boolean dialer) {
        static Key of(TransportConnection c) {
            return new Key(c.peerEndpointId, c.connectionId, c.dialer);
        }
    }

    @Seeded(cases = 200)
    void findsWhatAMapFinds(long seed) {
        Rng rng = new Rng(seed);
        int ids = 1 + rng.nextInt(40);
        ConnectionKeys table = new ConnectionKeys(rng.nextLong());
        Map<Key, TransportConnection> expected = new HashMap<>();
        List<TransportConnection> all = new ArrayList<>();
        for (int step = 0; step < 400; step++) {
            if (rng.nextInt(5) < 3) {
                TransportConnection c =
                        new TransportConnection(rng.nextInt(ids), rng.nextInt(2) == 0, PEER, 1);
                c.peerEndpointId = rng.nextInt(4);
                table.put(c);
                expected.put(Key.of(c), c);
                all.add(c);
            } else if (!all.isEmpty()) {
                // Perhaps one that another has taken the place of: nothing happens then.
                TransportConnection c = all.remove(rng.nextInt(all.size()));
                table.remove(c);
                expected.remove(Key.of(c), c);
            }
            Key key = new Key(rng.nextInt(4), rng.nextInt(ids), rng.nextInt(2) == 0);
            assertThat(table.find(key.endpointId, key.connectionId, key.dialer))
                    .isSameAs(expected.get(key));
        }
        expected.forEach(
                (key, c) ->
                        assertThat(table.find(key.endpointId, key.connectionId, key.dialer))
                                .isSameAs(c));
    }
}
