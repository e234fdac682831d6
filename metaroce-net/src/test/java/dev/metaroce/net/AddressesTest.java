package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;

/** Forms of addresses (I04) and payload sizes of links (E03, E08). */
class AddressesTest {
    @ParameterizedTest
    @CsvSource({
        "127.0.0.1,            127.0.0.1:7",
        "127.0.0.1:50791,      127.0.0.1:50791",
        " 10.1.2.255:1 ,       10.1.2.255:1",
        "0.0.0.0:65535,        0.0.0.0:65535",
        "::1,                  [0:0:0:0:0:0:0:1]:7",
        "[::1],                [0:0:0:0:0:0:0:1]:7",
        "[::1]:18515,          [0:0:0:0:0:0:0:1]:18515",
        "2001:db8::fe:9,       [2001:db8:0:0:0:0:fe:9]:7",
        "::ffff:192.0.2.5,     192.0.2.5:7",
        "[::ffff:192.0.2.5]:8, 192.0.2.5:8",
    })
    void addressesAreReadInEveryForm_I04(String text, String expected) {
        NetAddress address = UdpDevice.resolve(text, 7);

        assertThat(address).hasToString(expected);
        assertThat(Addresses.toNetAddress(Addresses.toSocketAddress(address))).isEqualTo(address);
    }

    @Test
    void namesGiveAllTheirAddressesWithThePort_I04() {
        List<InetSocketAddress> addresses = Addresses.resolveAll("localhost:99", 7);

        assertThat(addresses).isNotEmpty();
        assertThat(addresses)
                .allMatch(a -> a.getPort() == 99 && a.getAddress().isLoopbackAddress());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "127.0.0.1:0     | port \"0\" is not in 1..65535",
                "127.0.0.1:65536 | port \"65536\" is not in 1..65535",
                "127.0.0.1:-1    | port \"-1\" is not in 1..65535",
                "127.0.0.1:+1    | port \"+1\" is not in 1..65535",
                "host:           | port \"\" is not in 1..65535",
                "host:abc        | port \"abc\" is not in 1..65535",
                "host:99999999999| port \"99999999999\" is not in 1..65535",
                "[::1            | brackets do not match",
                "[::1]x          | brackets do not match",
                "[::1]:x         | port \"x\" is not in 1..65535",
                "[localhost]:1   | brackets are for IPv6 addresses",
                "[]:1            | brackets are for IPv6 addresses",
                ":50791          | there is no host",
            })
    void malformedAddressesAreRefusedWithTheReason_I04(String text, String reason) {
        assertThatThrownBy(() -> UdpDevice.resolve(text, 7))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"" + text + "\"")
                .hasMessageContaining(reason)
                .message()
                .doesNotContain("\n");
    }

    @Test
    void anEmptyAddressIsRefused() {
        assertThatThrownBy(() -> UdpDevice.resolve("  ", 7))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("there is no host");
    }

    @ParameterizedTest
    @ValueSource(strings = {"fe80::1", "[fe80::1]:50791"})
    void linkLocalWithoutZoneIsRefusedWithAHint_I04(String text) {
        assertThatThrownBy(() -> UdpDevice.resolve(text, 7))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("link-local and needs a zone")
                .hasMessageContaining("%<interface>")
                .hasMessageContaining("lo");
    }

    @Test
    void linkLocalWithZoneKeepsIt_I04() {
        NetAddress address = UdpDevice.resolve("[fe80::1%3]:5", 7);

        assertThat(address).isEqualTo(new NetAddress(0xFE80L << 48, 1, 5, 3, 0));
        InetSocketAddress socket = Addresses.toSocketAddress(address);
        assertThat(((Inet6Address) socket.getAddress()).getScopeId()).isEqualTo(3);
        assertThat(Addresses.toNetAddress(socket)).isEqualTo(address);
    }

    @Test
    void linkLocalWithTheNameOfItsInterfaceWorks_I04() throws SocketException {
        for (NetworkInterface link : NetworkInterface.networkInterfaces().toList()) {
            if (link.inetAddresses().anyMatch(Addresses::isZoned)) {
                NetAddress address = UdpDevice.resolve("fe80::1%" + link.getName(), 7);

                assertThat(address.scopeId()).isEqualTo(link.getIndex());
            }
        }
    }

    @Test
    void anUnknownZoneIsNamedWithTheInterfacesThereAre() {
        assertThatThrownBy(() -> UdpDevice.resolve("fe80::1%nosuch0", 7))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("no interface \"nosuch0\"")
                .hasMessageContaining("lo");
    }

    @ParameterizedTest
    @CsvSource({
        "no-such-host.invalid:9, unknown host \"no-such-host.invalid\"",
        "1:2:3,                  \"1:2:3\" is not an IPv6 address",
    })
    void unknownHostsGiveOneClearLine(String text, String expected) {
        assertThatThrownBy(() -> UdpDevice.resolve(text, 7))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining(expected)
                .hasMessageContaining("check")
                .message()
                .doesNotContain("\n");
    }

    @ParameterizedTest
    @CsvSource({
        "1500,  true,  1408",
        "1500,  false, 1344",
        "9000,  true,  8896",
        "9000,  false, 8896",
        "1280,  true,  1152",
        "1280,  false, 1152",
        "65536, true,  65408",
        "65536, false, 65408",
        "576,   true,  448",
        "300,   true,  256",
    })
    void payloadFitsTheLinkWithoutFragments_E03(int linkMtu, boolean ipv4, int payload) {
        assertThat(Addresses.payloadMtu(linkMtu, ipv4)).isEqualTo(payload);
        int headers = (ipv4 ? 20 : 40) + 8 + 56;
        assertThat(payload + headers <= linkMtu || payload == 256).isTrue();
        assertThat(payload + 64 + headers > linkMtu || payload == 65_408).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void payloadTowardsLoopbackIsThatOfItsInterface_E08(String host) throws Exception {
        InetAddress address = InetAddress.getByName(host);
        int mtu = NetworkInterface.getByInetAddress(address).getMTU();
        boolean ipv4 = !(address instanceof Inet6Address);

        int payload = Addresses.payloadMtuFor(UdpDevice.resolve(host, 7));

        assertThat(payload).isEqualTo(Addresses.payloadMtu(mtu, ipv4));
        assertThat(Addresses.payloadMtuOfLocal(address)).isEqualTo(payload);
    }

    @Test
    void theWildcardAddressCarriesWhatTheNarrowestLinkDoes_E08() throws Exception {
        int narrowest = Addresses.PAYLOAD_BYTES_MAX;
        for (NetworkInterface link : NetworkInterface.networkInterfaces().toList()) {
            boolean hasIpv4 = link.inetAddresses().anyMatch(a -> a.getAddress().length == 4);
            if (link.isUp() && !link.isLoopback() && hasIpv4) {
                narrowest = Math.min(narrowest, Addresses.payloadMtu(link.getMTU(), true));
            }
        }

        int payload = Addresses.payloadMtuOfLocal(new InetSocketAddress(0).getAddress());

        assertThat(payload).isLessThanOrEqualTo(narrowest).isGreaterThan(narrowest - 128);
    }

    @Test
    void everyLoopbackAddressCarriesWhatLoopbackCarries() throws Exception {
        int carried = Addresses.payloadMtuOfLocal(InetAddress.getByName("127.0.0.1"));
        InetAddress other = InetAddress.getByName("127.70.0.9");
        assertThat(Addresses.payloadMtuOfLocal(other)).isEqualTo(carried).isGreaterThan(8_192);
        assertThat(Addresses.payloadMtuOfLocal(InetAddress.getByName("::1"))).isEqualTo(carried);
    }
}
