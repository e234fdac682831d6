package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.List;

/** Wrong options: exit code 2 and one line that names the option and what would be right. */
class WrongCommandLineTest {
    private static final String SIZE = "1..2147483648";

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "perf write-bw --no-such        | Unknown option         | --no-such",
                "perf write-bw --sise 8         | --sise                 | did you mean",
                "perf write-bw -s 0             | --size                 | 1..2147483648",
                "perf write-bw -s -1            | --size                 | 1..2147483648",
                "perf write-bw -s 3x            | --size                 | 1..2147483648",
                "perf write-bw -s 1T            | --size                 | k, M, G",
                "perf write-bw -s 3G            | --size                 | 1..2147483648",
                "perf write-bw -s               | --size                 | Missing required",
                "perf write-bw -n 0             | --iters                | 1..1000000000",
                "perf write-bw -n 1.5           | --iters                | 1..1000000000",
                "perf write-bw -q 0             | --qps                  | 1..128",
                "perf write-bw -q 129           | --qps                  | 1..128",
                "perf write-bw -t 0             | --tx-depth             | 1..16384",
                "perf write-bw -p 70000         | --port                 | 0..65535",
                "perf write-bw -p abc           | --port                 | 0..65535",
                "perf write-bw -D 0             | --duration             | 0.1..86400",
                "perf write-bw -D x             | --duration             | 0.1..86400",
                "perf write-bw -a -s 8          | -a/--all               | -s/--size",
                "perf write-bw -D 1 -n 5        | -D/--duration          | -n/--iters",
                "perf write-bw -4 -6 h          | -4                     | -6",
                "perf write-bw --mtu 1000       | --mtu                  | 64",
                "perf write-bw --mtu 128        | --mtu                  | 256..65408",
                "perf write-bw --profile X      | --profile              | S or M",
                "perf write-bw --paths 65       | --paths                | 1..64",
                "perf write-bw --initiators 0   | --initiators           | 1..1024",
                "perf write-bw --drive both     | --drive                | inline or thread",
                "perf write-bw --timeout 0      | --timeout              | 0.1..86400",
                "perf write-bw --max-p99 1 h    | --max-p99              | --min-bw",
                "perf write-bw h --self         | --self                 | HOST",
                "perf write-bw h --keep         | --keep                 | HOST",
                "perf write-bw h -p 0           | -p/--port 0            | server",
                "perf write-bw a b              | Unmatched argument     | 'b'",
                "perf write-lat -q 2 h          | -q/--qps 2             | bandwidth",
                "perf send-lat -t 4 h           | -t/--tx-depth 4        | bandwidth",
                "perf write-lat --initiators 2 h| --initiators 2         | bandwidth",
                "perf write-lat --min-bw 1 h    | --min-bw               | --max-p99",
                "perf write-bw 127.0.0.1:99999  | 127.0.0.1:99999        | 1..65535",
                "perf write-bw [::1             | [::1                   | brackets",
                "perf write-bw no-such.invalid  | no-such.invalid        | unknown host",
                "perf write-bw fe80::1          | fe80::1                | zone",
                "perf                           | name a test            | write-bw",
                "perf copy-lat                  | Unmatched argument     | 'copy-lat'",
                "demo --loss 101%               | --loss                 | 0..100",
                "demo --size 0                  | --size                 | 1..",
                "demo no/such/file              | no/such/file           | does not exist",
                "demo .                         | '.'                    | can be read",
                "relay --listen 0               | --to                   | Missing required",
                "relay --listen 0 --to h --drop x | --drop               | 0..100",
                "relay --listen 0 --to h --burst 5 | --burst             | LENGTH/EVERY",
                "relay --listen 0 --to h --burst 9/3 | --burst           | LENGTH/EVERY",
                "relay --listen 0 --to h --delay 5 | --delay             | 5ms",
                "relay --listen 0 --to 127.0.0.1:1 --reorder-distance 0 | --reorder-distance | 1..",
                "devinfo --jsn                  | --jsn                  | --json",
                "no-such-command                | no-such-command        | metaroce --help",
            })
    @DisplayName("I01: wrong options are refused with one line that names option and range")
    void isRefusedWithOneLine(String arguments, String names, String advises) {
        InProcess run = InProcess.run(arguments.strip().split(" +"));

        assertThat(run.exitCode()).as(run.err()).isEqualTo(2);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err()).startsWith("metaroce").contains(names).contains(advises);
        assertThat(run.out()).isEmpty();
    }

    @ParameterizedTest
    @DisplayName("I01: wrong options of batches, latencies, server and ping are refused likewise")
    @CsvSource(
            delimiter = '|',
            value = {
                "perf write-bw -q 1 -t 8 -l 9 h | -l/--post-list 9      | -t/--tx-depth 8",
                "perf write-bw -Q 129 h         | -Q/--cq-mod 129       | -t/--tx-depth 128",
                "perf write-bw -l 0             | --post-list           | 1..16384",
                "perf write-bw -b --initiators 2 h | -b/--bidirectional  | --initiators 2",
                "perf write-bw --interval 0     | --interval            | 0.1..86400",
                "perf write-bw --percentiles 50 h | --percentiles       | latency",
                "perf write-bw --histogram f h  | --histogram           | latency",
                "perf write-lat -b h            | -b/--bidirectional    | bandwidth",
                "perf atomic-bw -s 4 h          | -s/--size 4             | 8 bytes",
                "perf atomic-lat -a h           | -a/--all                | 8 bytes",
                "perf atomic-bw -b h            | -b/--bidirectional      | atomics",
                "perf send-lat -l 2 h           | -l/--post-list 2      | bandwidth",
                "perf send-lat -Q 2 h           | -Q/--cq-mod 2         | bandwidth",
                "perf send-lat --interval 1 h   | --interval            | bandwidth",
                "perf send-lat --percentiles 0 h | --percentiles        | above 0 and below 100",
                "perf send-lat --percentiles 50,x h | --percentiles     | 'x'",
                "perf server h                  | Unmatched argument    | 'h'",
                "perf server -s 8               | Unknown option        | '-s'",
                "perf server -p 70000           | --port                | 0..65535",
                "perf server -4 -6              | -4                    | -6",
                "perf ping                      | HOST[:PORT]           | Missing required",
                "perf ping h -c 0               | --count               | 1..1000000000",
                "perf ping h -i 0               | --interval            | 0.001..3600",
                "perf ping h -s 2M              | --size                | 1..1048576",
                "perf ping h -p 0               | -p/--port 0           | server",
                "perf ping no-such.invalid      | no-such.invalid       | unknown host",
            })
    void isRefusedLikewise(String arguments, String names, String advises) {
        isRefusedWithOneLine(arguments, names, advises);
    }

    @ParameterizedTest
    @DisplayName("I01: wrong options of RoCEv2 are refused likewise")
    @CsvSource(
            delimiter = '|',
            value = {
                "perf write-bw --transport ib   | --transport            | metaroce or rocev2",
                "perf write-bw --exchange cm    | --exchange             | native, perftest",
                "perf write-bw --transport rocev2           | rocev2 needs  | --bind ADDRESS",
                "perf server --transport rocev2             | rocev2 needs  | --bind ADDRESS",
                "perf write-bw --transport rocev2 -p 5000 h | -p/--port     | 4791 only",
                "perf ping --transport rocev2 -p 5000 h     | -p/--port     | 4791 only",
                "perf server --transport rocev2 --bind 127.0.0.1 -p 5 | -p/--port | 4791 only",
                "perf write-bw --transport rocev2 127.0.0.1:5000 | 127.0.0.1:5000 | 4791 only",
                "perf write-bw --use-srq h                  | --use-srq     | send-bw",
                "perf send-lat --use-srq h                  | --use-srq     | send-bw",
                "perf write-bw --transport rocev2 --paths 2 h | --paths     | MetaRoCE",
                "perf write-bw --transport rocev2 --unsafe-no-crc h | --unsafe-no-crc | MetaRoCE",
                "perf write-bw --transport rocev2 --self --loss 1% | --loss | MetaRoCE",
                "perf write-bw --exchange perftest h        | --exchange    | --transport rocev2",
                "perf write-bw --transport rocev2 --exchange perftest -a h | -a/--all | perftest",
                "perf write-lat --transport rocev2 --exchange perftest h | write-lat | perftest",
            })
    void wrongOptionsOfRoceAreRefused(String arguments, String names, String advises) {
        isRefusedWithOneLine(arguments, names, advises);
    }

    @ParameterizedTest
    @DisplayName("I01: wrong options of RoCEv2 simulations are refused likewise")
    @CsvSource(
            delimiter = '|',
            value = {
                "sim --transport tcp             | --transport           | metaroce or rocev2",
                "sim --go-back-n naive           | --go-back-n           | --transport rocev2",
                "sim --dcqcn off                 | --dcqcn               | --transport rocev2",
                "sim --transport rocev2 --dcqcn 1 | --dcqcn              | on, off",
                "sim --transport rocev2 --paths 8 | --connections        | no leases",
                "sim --transport rocev2 --no-ecn | --transport rocev2    | mechanisms",
                "sim --transport rocev2 --mtu 1536 | --mtu 1536          | 1024, 2048",
                "study rocev2 --part all         | --part                | loss, pfc, dcqcn",
                "study rocev2 --packets 9        | --packets             | 1000..",
            })
    void isRefusedByRoceSimulationsLikewise(String arguments, String names, String advises) {
        isRefusedWithOneLine(arguments, names, advises);
    }

    @ParameterizedTest
    @DisplayName("I01: wrong options of sim are refused likewise")
    @CsvSource(
            delimiter = '|',
            value = {
                "sim --host 4                    | --host                | did you mean",
                "sim --topology torus            | --topology            | fat-tree",
                "sim --hosts 1                   | --hosts               | 2..200000",
                "sim --hosts x                   | --hosts               | 2..200000",
                "sim --rate 0                    | --rate                | 100G",
                "sim --rate 2T                   | --rate                | 1.6 Tb/s",
                "sim --link-delay -1us           | --link-delay          | such as 1us",
                "sim --link-delay 2000s          | --link-delay          | 1000s",
                "sim --topology star --spines 2  | spines 2              | star",
                "sim --topology pair --hosts 3   | hosts 3               | pair",
                "sim --oversubscription 2 --link-rate 1G | --oversubscription | --link-rate",
                "sim --topology ring --oversubscription 2 | --oversubscription | leaf-spine",
                "sim --topology-file x --hosts 4 | --topology-file       | --hosts",
                "sim --topology-file no/such     | no/such               | can be read",
                "sim --workload gossip           | --workload            | permutation",
                "sim --size 1M --sizes 64k       | --size                | --sizes",
                "sim --size 3G                   | 3221225472            | at most 2147483648",
                "sim --sizes normal:1-2          | --sizes               | uniform:1k-1M",
                "sim --sizes-file no/such        | no/such               | can be read",
                "sim --senders 5                 | fan 5                 | permutation",
                "sim --workload incast --senders 500 | fan 500           | 1..127",
                "sim --workload poisson --load 2 | --load                | 0.001..1",
                "sim --traffic-matrix x --size 1 | --traffic-matrix      | --size",
                "sim --traffic-matrix no/such    | no/such               | can be read",
                "sim --profile X                 | --profile             | S or M",
                "sim --mtu 1000                  | --mtu                 | 64",
                "sim --contexts 257              | --contexts            | 1..256",
                "sim --short-slots 256           | --short-slots         | 0..255",
                "sim --policy drop               | --policy              | queue, preempt, deny",
                "sim --congestion tcp            | --congestion          | ecn, nscc",
                "sim --path-choice best          | --path-choice         | weighted, bitmap",
                "sim --sack 128                  | --sack                | 0, 64, 256",
                "sim --sequence flow             | --sequence            | path, lease",
                "sim --resend none               | --resend              | same, other",
                "sim --ecn 9,5,1                 | --ecn                 | KMIN",
                "sim --buffer 1                  | --buffer              | 1024..",
                "sim --headroom 1k               | --headroom            | --lossless pfc",
                "sim --lossless maybe            | --lossless            | pfc, credit",
                "sim --nic-miss 1us              | --nic-miss            | --nic-contexts",
                "sim --loss 101                  | --loss                | 0..100",
                "sim --loss 1 --burst-loss 1,5   | --loss                | --burst-loss",
                "sim --burst-loss 1              | --burst-loss          | PERCENT,LENGTH",
                "sim --faulty-link h0/edge0      | --faulty-link         | --loss",
                "sim --loss 1 --faulty-link h0   | 'h0'                  | NODE/NODE",
                "sim --link-down 1ms             | --link-down           | FROM[-TO]:LINK",
                "sim --link-down 2ms-1ms:h0/edge0 | --link-down          | before it begins",
                "sim --link-down 1ms:h0/edge9    | h0/edge9              | no link",
                "sim --link-down 1ms:h0/spine0   | spine0                | edge0",
                "sim --seeds 0                   | --seeds               | 1..1000000",
                "sim --threads 2                 | --threads 2           | --seeds",
                "sim --seeds 2 --sweep           | --seeds               | --sweep",
                "sim --sweep 0                   | --sweep               | 1..199999",
                "sim --sweep --hosts 4           | --sweep               | --hosts",
                "sim --patience 1ns              | --patience            | 1us",
                "sim --interval 1us              | --interval            | --series",
                "sim --seeds 2 --flows f         | --flows               | --seeds",
                "sim --flows no/such/file        | no/such/file          | another file",
                "sim --json no/such/file         | no/such/file          | another file",
            })
    void isRefusedBySimLikewise(String arguments, String names, String advises) {
        isRefusedWithOneLine(arguments, names, advises);
    }

    @ParameterizedTest
    @DisplayName("I01: wrong options of measurements are refused likewise")
    @CsvSource(
            delimiter = '|',
            value = {
                "connections --peers 999         | --peers               | 1000..500000",
                "connections --peers 1e5         | --peers               | 1000..500000",
                "connections --targets 0         | --targets             | 1..64",
                "connections --writes 0          | --writes              | 1..100000",
                "connections --json no/such/file | no/such/file          | another file",
                "study leases --contexts 257     | --contexts            | 1..256",
                "study leases --policy drop      | --policy              | queue, preempt",
                "study leases --size 0           | --size                | 1 byte",
                "study leases --size 1 --backlog 1G | --backlog          | 20000000 messages",
                "study loss --seeds 0            | --seeds               | 1..10000",
                "study loss --size 0             | --size                | 1 byte",
                "study loss --part all           | --part                | random, burst",
                "study loss --paths 65           | --paths               | 1..64",
                "study loss --charts pom.xml     | pom.xml               | another one",
                "study incast --senders 8,0      | --senders             | 1..10000",
                "study incast --size 0           | --size                | 1 byte",
                "study planes --pairs 65         | --pairs               | 1..64",
                "study planes --threads 0        | --threads             | 1..1024",
                "study ablation --task none      | --task                | loss, incast",
                "study ablation --size 0         | --size                | 1 byte",
                "study leases --csv no/such/file | no/such/file          | another file",
            })
    void isRefusedByMeasurementsLikewise(String arguments, String names, String advises) {
        isRefusedWithOneLine(arguments, names, advises);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sim --json - --hosts 1",
                "sim --json - --sweep --seeds 2",
                "perf write-bw --json -s 0",
                "perf write-bw --json -a -s 8",
                "perf write-lat --json --nonsense",
                "demo --json no/such/file",
            })
    void isADocumentToo(String arguments) {
        InProcess run = InProcess.run(List.of(arguments.split(" ")));

        assertThat(run.exitCode()).isEqualTo(2);
        JsonNode document = new JsonMapper().readTree(run.out());
        assertThat(document.get("error").asString()).isNotEmpty();
        assertThat(document.get("exit_code").asInt()).isEqualTo(2);
        assertThat(run.errLines()).hasSize(1);
    }

    @ParameterizedTest
    @DisplayName("I01: nothing is sent when an option is wrong")
    @ValueSource(
            strings = {
                "--no-such",
                "-s 0",
                "-s -1",
                "-s 3x",
                "-s 1T",
                "-n 0",
                "-q 0",
                "-D 0",
                "-a -s 8",
                "-b --initiators 2",
                "-p 70000",
                "-p abc"
            })
    void nothingIsSent(String wrong) throws IOException {
        try (DatagramChannel target = DatagramChannel.open()) {
            target.bind(new InetSocketAddress("127.0.0.1", 0)).configureBlocking(false);
            InetSocketAddress address = (InetSocketAddress) target.getLocalAddress();
            String line = "perf write-bw 127.0.0.1:" + address.getPort() + " " + wrong;

            assertThat(InProcess.run(line.split(" ")).exitCode()).isEqualTo(2);
            assertThat(target.receive(ByteBuffer.allocate(64))).isNull();
        }
    }

    @Test
    void sizesInRangeArePassedOn() {
        // Refused later, for the host: the size itself was fine.
        for (String size : List.of("1", "2147483648", "2G", "64k", "1M", "8388608")) {
            InProcess run = InProcess.run("perf", "write-bw", "-s", size, "no-such.invalid");

            assertThat(run.err()).contains("no-such.invalid").doesNotContain(SIZE);
        }
    }
}
