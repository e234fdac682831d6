package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

class AddressCacheTest {
    private final AddressCache cache = new AddressCache(64, 0);

    @Test
    void equalSocketsGiveTheSameObject() {
        NetAddress first = cache.addressOf(new InetSocketAddress("127.0.0.1", 5));
        NetAddress second = cache.addressOf(new InetSocketAddress("127.0.0.1", 5));

        assertThat(second).isSameAs(first).isEqualTo(NetAddress.ofIpv4(0x7F00_0001, 5));
        assertThat(cache.misses()).isOne();
    }

    @Test
    void equalAddressesGiveTheSameSocket() {
        InetSocketAddress first = cache.socketOf(new NetAddress(0, 1, 5, 0, 0));
        InetSocketAddress second = cache.socketOf(new NetAddress(0, 1, 5, 0, 0));

        assertThat(second).isSameAs(first).isEqualTo(new InetSocketAddress("::1", 5));
        assertThat(cache.misses()).isOne();
    }

    @Test
    void zonesAreToldApartAlthoughTheJdkDoesNot() throws UnknownHostException {
        byte[] linkLocal = InetAddress.getByName("fe80::1").getAddress();
        InetSocketAddress inZone3 =
                new InetSocketAddress(Inet6Address.getByAddress(null, linkLocal, 3), 5);
        InetSocketAddress inZone4 =
                new InetSocketAddress(Inet6Address.getByAddress(null, linkLocal, 4), 5);
        assertThat(inZone3).isEqualTo(inZone4);

        assertThat(cache.addressOf(inZone3).scopeId()).isEqualTo(3);
        assertThat(cache.addressOf(inZone4).scopeId()).isEqualTo(4);
    }

    @Test
    void strangersPushEntriesOutButEveryAnswerStaysRight_C11() {
        AddressCache targets = new AddressCache(64, 0);
        for (int port = 1; port <= 10_000; port++) {
            NetAddress expected = NetAddress.ofIpv4(0x7F00_0001, port);

            assertThat(cache.addressOf(new InetSocketAddress("127.0.0.1", port)))
                    .isEqualTo(expected);
            assertThat(targets.socketOf(expected).getPort()).isEqualTo(port);
        }

        assertThat(cache.misses()).isEqualTo(10_000);
        assertThat(targets.misses()).isEqualTo(10_000);
    }
}
