package dev.metaroce.sim.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

class TopologyFileTest {
    private static final String TWO_LEAVES =
            """
            # Three hosts on two leaves.
            name = "two leaves"
            node_count = 5
            link_count = 5
            hosts = ["a", "b",
                "c"]
            switches = ["leaf0", { name = "leaf1" }]

            [defaults]
            rate = "100G"
            delay = "1us"

            [[links]]
            a = "a"
            b = "leaf0"

            [[links]]   # the second
            a = "b"
            b = "leaf0"

            [[links]]
            a = "leaf1"
            b = "c"

            [[links]]
            a = "leaf0"
            b = "leaf1"
            rate = "400G"
            rate_back = "200Gbps"
            delay = "2us"
            parallel = 2
            """;

    private static Topology parse(String text) {
        return TopologyFile.parse("net.toml", text);
    }

    private static void refused(String text, String message) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(ConfigException.class)
                .hasMessage(message);
    }

    @Test
    void whatTheFileSaysIsWhatIsBuilt() {
        Topology net = parse(TWO_LEAVES);

        assertThat(net.kind()).isEqualTo("two leaves");
        assertThat(net.hosts()).isEqualTo(3);
        assertThat(net.switches()).isEqualTo(2);
        assertThat(net.planes()).isEqualTo(1);
        assertThat(net.links()).isEqualTo(5);
        assertThat(net.name(2)).isEqualTo("c");
        assertThat(net.name(4)).isEqualTo("leaf1");
        assertThat(net.tier(2)).isZero();
        assertThat(net.tier(4)).isEqualTo(1);
        assertThat(net.linkA(2)).isEqualTo(4);
        assertThat(net.linkB(2)).isEqualTo(2);
        assertThat(net.rateAbBitsPerSecond(2)).isEqualTo(100_000_000_000L);
        assertThat(net.rateBaBitsPerSecond(2)).isEqualTo(100_000_000_000L);
        assertThat(net.delayPs(2)).isEqualTo(1_000_000);
        for (int bundle = 3; bundle <= 4; bundle++) {
            assertThat(net.rateAbBitsPerSecond(bundle)).isEqualTo(400_000_000_000L);
            assertThat(net.rateBaBitsPerSecond(bundle)).isEqualTo(200_000_000_000L);
            assertThat(net.delayPs(bundle)).isEqualTo(2_000_000);
        }
    }

    @Test
    void aSwitchThatIsFurtherFromHostsIsOfAHigherTier() {
        Topology net =
                parse(
                        """
                        hosts = ["a", "b"]
                        switches = ["core", "left", "right"]
                        defaults = { rate = "1G", delay = "0ns" }
                        links = [
                            { a = "core", b = "left" }, { a = "core", b = "right" },
                            { a = "a", b = "left" }, { a = "b", b = "right" },
                        ]
                        """);

        assertThat(net.tier(2)).isEqualTo(2);
        assertThat(net.tier(3)).isEqualTo(1);
        assertThat(net.tier(4)).isEqualTo(1);
    }

    @Test
    void planesComeFromSwitchesAndFromLinksBetweenHosts() {
        Topology net =
                parse(
                        """
                        hosts = ["a", "b"]
                        switches = [{ name = "s", plane = 1 }]
                        defaults = { rate = "1G", delay = "1us" }
                        links = [
                            { a = "a", b = "b" },
                            { a = "a", b = "s" },
                            { a = "b", b = "s", plane = 1 },
                            { a = "b", b = "a", plane = 2 },
                        ]
                        """);

        assertThat(net.planes()).isEqualTo(3);
        assertThat(net.plane(0)).isZero();
        assertThat(net.plane(1)).isEqualTo(1);
        assertThat(net.plane(3)).isEqualTo(2);
        assertThat(net.planeOfSwitch(2)).isEqualTo(1);
    }

    @Test
    @DisplayName("M08 (a) hosts linked directly need no switch")
    void m08HostsMayBeLinkedDirectly() {
        Topology net =
                parse(
                        """
                        hosts = ["a", "b"]
                        links = [{ a = "a", b = "b", rate = "10G", delay = "5ns" }]
                        """);

        assertThat(net.switches()).isZero();
        assertThat(Routes.of(net).nextPorts(0, 1, 0)).containsExactly(0);
        assertThat(Routes.of(net).nextPorts(1, 0, 0)).containsExactly(1);
    }

    @Test
    @DisplayName("M08 (b) counts in the header are checked")
    void m08CountsMustMatch() {
        refused(
                TWO_LEAVES.replace("node_count = 5", "node_count = 18"),
                "net.toml:3: node_count 18: the file lists 5 nodes");
        refused(
                TWO_LEAVES.replace("link_count = 5", "link_count = 4"),
                "net.toml:4: link_count 4: the file lists 5 links");
    }

    @Test
    @DisplayName("M08 (c) a node that is not listed is named")
    void m08UnknownNodeIsNamed() {
        refused(
                TWO_LEAVES.replace("b = \"c\"", "b = \"d\""),
                "net.toml:23: node 'd' is neither in hosts nor in switches");
    }

    @Test
    @DisplayName("M08 (d) a link that is listed twice names both lines")
    void m08DuplicateLinkNamesBothLines() {
        refused(
                TWO_LEAVES.replace("a = \"leaf1\"\nb = \"c\"", "a = \"leaf0\"\nb = \"b\""),
                "net.toml:21: link leaf0 - b is in line 17 already:"
                        + " for several cables say parallel = 2");
    }

    @Test
    @DisplayName("M08 (e) wrong values are told with file, line and reason")
    void m08WrongValuesAreToldWithLineAndReason() {
        editRefused(
                "rate = \"100G\"",
                "rate = \"0\"",
                "10: rate '0' is not a rate in 1 b/s..1.6 Tb/s (such as 100G or 400Gbps)");
        editRefused(
                "rate = \"400G\"",
                "rate = \"2T\"",
                "28: rate '2T' is not a rate in 1 b/s..1.6 Tb/s (such as 100G or 400Gbps)");
        editRefused("rate = \"100G\"", "rate = 100", "10: rate 100: is no text in quotes");
        editRefused(
                "delay = \"2us\"",
                "delay = \"-2us\"",
                "30: delay '-2us' is not a delay in 0ns..1000s (such as 1us)");
        editRefused(
                "delay = \"1us\"",
                "delay = \"1\"",
                "11: delay '1' is not a delay in 0ns..1000s (such as 1us)");
        editRefused("delay = \"1us\"", "# none", "13: has no delay, and [defaults] has none");
        editRefused(
                "parallel = 2", "parallel = 0", "31: parallel 0: is no whole number in 1..1024");
        editRefused(
                "parallel = 2",
                "parallel = 2.5",
                "31: parallel 2.5: is no whole number in 1..1024");
        editRefused(
                "rate_back",
                "rate_bakc",
                "29: unknown key 'rate_bakc': known here are a, b, rate,"
                        + " rate_back, delay, parallel, plane");
        editRefused(
                "name = \"two",
                "nmae = \"two",
                "2: unknown key 'nmae': known here are name, node_count,"
                        + " link_count, hosts, switches, defaults, links");
        editRefused(
                "name = \"leaf1\"",
                "label = \"l\"",
                "7: unknown key 'label': known here are name, plane");
        editRefused("name = \"leaf1\"", "plane = 0", "7: has no name");
        editRefused("\"c\"]", "\"a\"]", "6: node 'a' is listed twice");
        editRefused(
                "switches = [\"leaf0\", { name = \"leaf1\" }]",
                "switches = 3",
                "7: switches: is no list");
        editRefused(
                "\"leaf0\", {", "\"leaf0\", \"x\", {", "3: node_count 5: the file lists 6 nodes");
        editRefused("a = \"leaf1\"", "# no a", "21: has no a");
        editRefused("b = \"c\"", "b = \"leaf1\"", "23: link leaf1 - leaf1 joins a node to itself");
        editRefused(
                "[defaults]",
                "[deflaults]",
                "9: unknown key 'deflaults': known here are name, node_count,"
                        + " link_count, hosts, switches, defaults, links");
        editRefused("\"c\"]", "\"c\", 3]", "6: 3: is no table");
        editRefused(
                "parallel = 2",
                "plane = 1",
                "31: link leaf0 - leaf1 in plane 1: leaf0 is in plane 0");
        editRefused(
                "link_count = 5",
                "link_count = 1e",
                "4: is no TOML: More data after value has already ended."
                        + " Invalid value preceding this position?");
        editRefused("link_count = 5", "name = \"x\"", "4: is no TOML: Duplicate key");
    }

    /** What the file is told when one place in it is written otherwise. */
    private static void editRefused(String right, String wrong, String message) {
        assertThat(TWO_LEAVES).contains(right);
        String edited =
                TWO_LEAVES.replaceFirst(Pattern.quote(right), Matcher.quoteReplacement(wrong));
        refused(edited, "net.toml:" + message);
    }

    @Test
    @DisplayName("M08 (f) an empty file is called empty")
    void m08EmptyFileIsCalledEmpty() {
        refused("", "net.toml:1: is empty: list hosts and links");
        refused(" \n\n", "net.toml:1: is empty: list hosts and links");
        refused(
                "# nothing yet\n",
                "net.toml:1: lists 0 hosts: a topology takes 2..200000, as hosts = [\"a\", \"b\"]");
    }

    @Test
    void whatIsNotLinkedIsNamed() {
        String unlinked = TWO_LEAVES.replace("_count = 5", "_count = 6");
        refused(
                unlinked.replace("link_count = 6", "").replace("\"c\"]", "\"c\", 'd' ]"),
                "net.toml:6: host 'd' has no link");
        refused(
                unlinked.replace("link_count = 6", "").replace("[\"leaf0\", ", "[\"leaf0\",\n'x',"),
                "net.toml:8: switch 'x' has no path to a host");
        refused(
                TWO_LEAVES
                        .replace("name = \"leaf1\"", "name = \"leaf1\", plane = 1")
                        .replace("a = \"leaf0\"\nb = \"leaf1\"", "a = \"a\"\nb = \"leaf1\""),
                "net.toml:6: host 'b' has no link in plane 1".replace(":6:", ":5:"));
    }
}
