package dev.metaroce.tools.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.tools.cli.ToolException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;

class EndpointTest {
    @ParameterizedTest
    @CsvSource({
        "127.0.0.1, 127.0.0.1:7",
        "::, [::]:7",
        "::1, [::1]:7",
        "fe80::1, [fe80::1]:7",
        "2001:db8:0:0:1:0:0:1, [2001:db8::1:0:0:1]:7",
        "1:2:3:4:5:6:7:8, [1:2:3:4:5:6:7:8]:7",
        "1::, [1::]:7",
        "10:0:0:0:0:0:0:10, [10::10]:7",
    })
    void addressesAreShownAsPeopleWriteThem(String literal, String shown) {
        InetSocketAddress address = new InetSocketAddress(InetAddress.ofLiteral(literal), 7);

        assertThat(Endpoint.text(address)).isEqualTo(shown);
    }

    @Test
    void aNameWithoutAnAddressOfTheFamilyIsRefused() {
        assertThatThrownBy(() -> Endpoint.resolve("127.0.0.1", 7, Endpoint.Family.IPV6))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("no IPv6 address");
    }
}
