package dev.metaroce.sim.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TomlLinesTest {
    private static final String DOCUMENT =
            """
            # a = [ is no key
            title = "with ] and \\" and # in it"
            "quoted key" = '''
            a long one
            with = signs'''''
            after = 1 # here
            [servers.alpha]
            ports . first = [ 1, # one
                [2,
                 3], { x = 1, y = [ 4 ] },
            ]
            [[rows]]
            [[rows]]
            name = \"""
            \\\""" still the text
            ""\"
            [rows.inner]
            z = 2020-01-01 00:00:00
            """;

    @Test
    void eachKeyAndItemHasTheLineItBeginsIn() {
        TomlLines lines = new TomlLines(DOCUMENT);

        assertThat(lines.of("/title")).isEqualTo(2);
        assertThat(lines.of("/quoted key")).isEqualTo(3);
        assertThat(lines.of("/after")).isEqualTo(6);
        assertThat(lines.of("/servers/alpha")).isEqualTo(7);
        assertThat(lines.of("/servers/alpha/ports/first")).isEqualTo(8);
        assertThat(lines.of("/servers/alpha/ports/first/0")).isEqualTo(8);
        assertThat(lines.of("/servers/alpha/ports/first/1")).isEqualTo(9);
        assertThat(lines.of("/servers/alpha/ports/first/1/1")).isEqualTo(10);
        assertThat(lines.of("/servers/alpha/ports/first/2/y/0")).isEqualTo(10);
        assertThat(lines.of("/rows/0")).isEqualTo(12);
        assertThat(lines.of("/rows/1")).isEqualTo(13);
        assertThat(lines.of("/rows/1/name")).isEqualTo(14);
        assertThat(lines.of("/rows/1/inner/z")).isEqualTo(18);
        assertThat(lines.latestKey()).isEqualTo(18);
    }

    @Test
    void whatIsAbsentHasTheLineOfWhatIsAroundIt() {
        TomlLines lines = new TomlLines(DOCUMENT);

        assertThat(lines.of("/rows/1/rate")).isEqualTo(13);
        assertThat(lines.of("/servers/alpha/ports/first/9")).isEqualTo(8);
        assertThat(lines.of("/nothing/there")).isEqualTo(1);
    }

    @Test
    void theBeginningOfADocumentIsReadUpToItsEnd() {
        for (int end = 0; end < DOCUMENT.length(); end++) {
            assertThat(new TomlLines(DOCUMENT.substring(0, end)).latestKey()).isBetween(1, 18);
        }
    }
}
