package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;

/** Why nobody answers; without route and behind a firewall it is asked by {@code UnreachableIT}. */
class ReachabilityTest {
    @Test
    void aClosedPortIsToldFromSilence_C12_O05() {
        InetSocketAddress address;
        try (Peer peer = new Peer()) {
            address = peer.address();
            assertThat(Reachability.whySilent(address))
                    .contains("nothing comes back")
                    .contains("UDP port " + address.getPort());
            assertThat(peer.has(1)).isTrue();
        }
        assertThat(Reachability.whySilent(address))
                .contains("nothing listens on its UDP port " + address.getPort());
    }
}
