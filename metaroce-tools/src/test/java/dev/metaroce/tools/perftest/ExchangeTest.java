package dev.metaroce.tools.perftest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.wire.NetAddress;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** Our side of perftest's exchange against what perftest itself said in captures. */
class ExchangeTest {
    private static final NetAddress HOST = NetAddress.ofIpv4(0x0A2C_00FE, 0);

    /** The keys that an end told, one for each of its queue pairs. */
    private static List<Keys> keysOf(String capture, boolean server, int qps) {
        return CapturedTalk.messages(capture, server).stream()
                .filter(message -> message.length == Keys.BYTES)
                .limit(qps)
                .map(message -> Objects.requireNonNull(Keys.decode(message)))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "write_bw_s64",
                "read_bw_s64",
                "send_bw_s64",
                "atomic_fetch_add",
                "write_bw_2qp",
                "write_bw_ipv6"
            })
    void keysReadAndWrittenAgainAreTheSameBytes(String capture) {
        int seen = 0;
        for (boolean server : new boolean[] {false, true}) {
            for (byte[] message : CapturedTalk.messages(capture, server)) {
                if (message.length == Keys.BYTES) {
                    assertThat(Objects.requireNonNull(Keys.decode(message)).encode())
                            .isEqualTo(message);
                    seen++;
                }
            }
        }
        assertThat(seen).isGreaterThanOrEqualTo(8);
    }

    @Test
    void keysSayWhereAQueuePairIs() {
        byte[] message =
                ("0000:0001:000016:e76ae6:fffff720:0000560e1259e000:"
                                + "00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:00000000:\0")
                        .getBytes(StandardCharsets.US_ASCII);
        assertThat(Keys.decode(message))
                .isEqualTo(
                        new Keys(
                                1,
                                0x16,
                                0xE76AE6,
                                0xFFFF_F720,
                                0x560E_1259_E000L,
                                NetAddress.ofIpv4(0x0A4D_0002, 0),
                                0));
        assertThat(Keys.decode(Arrays.copyOf(message, 59))).isNull();
        message[3] = 'x';
        assertThat(Keys.decode(message)).isNull();
    }

    /** A server of perftest hears from us what it heard from perftest's client. */
    @ParameterizedTest
    @CsvSource({
        "write_bw_s64,1,false,1024",
        "read_bw_s64,1,false,1024",
        "send_bw_s64,1,true,1024",
        "atomic_fetch_add,1,false,1024",
        "write_bw_2qp,2,false,1024",
        "write_bw_ipv6,1,false,1024",
        "mtu4096_write_bw_s10000,1,false,4096"
    })
    void theClientSaysWhatPerftestsClientSays(String capture, int qps, boolean sends, int mtu) {
        CapturedTalk server = new CapturedTalk(capture, true);
        List<byte[]> original = CapturedTalk.messages(capture, false);
        Exchange client = new Exchange(server, keysOf(capture, false, qps));
        Figures figures = figuresIn(original);

        Exchange.Agreement agreed = client.open(mtu);
        client.begin(sends);
        client.finish(sends, figures);

        assertThat(agreed.mtu()).isEqualTo(mtu);
        assertThat(agreed.theirs()).isEqualTo(keysOf(capture, true, qps));
        assertThat(server.isAtEnd()).isTrue();
        assertThat(server.heard).containsExactlyElementsOf(original);
    }

    /** A client of perftest gets from us what it got from perftest's server, but for figures. */
    @ParameterizedTest
    @CsvSource({
        "write_bw_s64,1",
        "read_bw_s64,1",
        "send_bw_s64,1",
        "atomic_fetch_add,1",
        "write_bw_2qp,2",
        "write_bw_bidir,1"
    })
    void theServerAnswersAsPerftestsServerDoes(String capture, int qps) {
        CapturedTalk client = new CapturedTalk(capture, false);
        List<byte[]> original = CapturedTalk.messages(capture, true);
        Exchange server = new Exchange(client, keysOf(capture, true, qps));

        Exchange.Agreement agreed = server.answerOpen(1024);
        Figures figures = server.answerRest();

        assertThat(agreed.mtu()).isEqualTo(1024);
        assertThat(agreed.theirs()).isEqualTo(keysOf(capture, false, qps));
        assertThat(client.isAtEnd()).isTrue();
        assertThat(client.heard).hasSameSizeAs(original);
        for (int i = 0; i < original.size(); i++) {
            byte[] answer = client.heard.get(i);
            assertThat(answer).hasSameSizeAs(original.get(i));
            if (answer.length != Figures.PART_BYTES) {
                assertThat(answer).isEqualTo(original.get(i));
            }
        }
        assertThat(figures).isEqualTo(figuresIn(CapturedTalk.messages(capture, false)));
    }

    private static Figures figuresIn(List<byte[]> messages) {
        byte[] all = new byte[Figures.PARTS * Figures.PART_BYTES];
        int at = 0;
        for (byte[] message : messages) {
            if (message.length == Figures.PART_BYTES) {
                System.arraycopy(message, 0, all, at, message.length);
                at += message.length;
            }
        }
        return Figures.decode(all);
    }

    @Test
    void figuresOfATestAreThoseThatPerftestPrints() {
        Figures told = figuresIn(CapturedTalk.messages("write_bw_s64", false));
        assertThat(told.messageBytes()).isEqualTo(64);
        assertThat(told.iterations()).isEqualTo(5);
        double seconds = told.iterations() / (told.messageRate() * 1e6);
        Figures same = Figures.of(64, 5, seconds);
        assertThat(same.average()).isCloseTo(told.average(), Offset.offset(told.average() / 1000));
    }

    @Test
    void whoSpeaksAnotherVersionIsRefusedInOneLine() {
        CapturedTalk client = new CapturedTalk("write_bw_s64", false);
        Talk old = new AlteredTalk(client, "6.06", "5.60");
        Exchange server = new Exchange(old, keysOf("write_bw_s64", true, 1));
        assertThatThrownBy(() -> server.answerOpen(1024))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("version '5.60'")
                .hasMessageNotContaining("\n");
        assertThat(client.heard).isEmpty();
    }

    @Test
    void whatIsNoKeysIsRefusedInOneLine() {
        CapturedTalk client = new CapturedTalk("write_bw_s64", false);
        Talk wrong = new AlteredTalk(client, ":ff:ff:", ":ff\nff:");
        Exchange server = new Exchange(wrong, keysOf("write_bw_s64", true, 1));
        assertThatThrownBy(() -> server.answerOpen(1024))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("sent no keys")
                .hasMessageNotContaining("\n");
    }

    /** Says something else wherever it would have said {@code from}. */
    private record AlteredTalk(CapturedTalk talk, String from, String to) implements Talk {
        @Override
        public void write(byte[] message) {
            talk.write(message);
        }

        @Override
        public byte[] read(int bytes) {
            String said = new String(talk.read(bytes), StandardCharsets.ISO_8859_1);
            return said.replace(from, to).getBytes(StandardCharsets.ISO_8859_1);
        }

        @Override
        public String peer() {
            return talk.peer();
        }
    }

    @Test
    void aTalkOverTcpCarriesAWholeTest() throws Exception {
        Keys keys = new Keys(1, 0x11, 0xFFFFFF, 0x1234, 0x7F00_0000_0000L, HOST, 0);
        List<Figures> told = new ArrayList<>();
        try (TcpPair pair = new TcpPair()) {
            Thread server =
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        Exchange exchange =
                                                new Exchange(pair.server(), List.of(keys));
                                        assertThat(exchange.answerOpen(2048).mtu()).isEqualTo(256);
                                        told.add(exchange.answerRest());
                                    });
            Exchange client = new Exchange(pair.client(), List.of(keys));
            assertThat(client.open(256).theirs()).containsExactly(keys);
            client.begin(false);
            client.finish(false, Figures.of(1 << 20, 10, 2));
            server.join();
        }
        assertThat(told).containsExactly(new Figures(1 << 20, 10, 5, 5, 5e-6));
    }
}
