package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.net.PacketFilter.Verdict;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** The relay against plain sockets: what it counts is what really happened. */
class FaultRelayTest {
    private static final long MS = 1_000_000;
    private static final int BYTES = 100;

    /** Packets sent before the relay is waited for, so that no socket buffer overflows. */
    private static final int STRIDE = 200;

    @AutoClose private final Peer target = new Peer();
    @AutoClose private final Peer client = new Peer();
    private final List<FaultRelay> relays = new ArrayList<>();

    @AfterEach
    void everyPacketIsAccountedFor() {
        for (FaultRelay relay : relays) {
            RelayStats stats = relay.stats();
            relay.close();
            assertBalanced(stats.toTarget());
            assertBalanced(stats.toClient());
            assertThat(relay.stats().toTarget().forwarded())
                    .as("counts can be asked for after the end")
                    .isGreaterThanOrEqualTo(stats.toTarget().forwarded());
        }
    }

    private static void assertBalanced(RelayStats.Direction d) {
        assertThat(d.received() + d.duplicated() + d.injected())
                .isEqualTo(
                        d.forwarded()
                                + d.dropped()
                                + d.blackHoled()
                                + d.overflowed()
                                + d.sendFailed()
                                + d.pending());
    }

    private RelayOptions options() {
        return RelayOptions.between(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), target.address());
    }

    private FaultRelay start(RelayOptions options) {
        FaultRelay relay = FaultRelay.start(options);
        relays.add(relay);
        return relay;
    }

    private FaultRelay start(Faults toTarget) {
        return start(options().withFaults(7, toTarget, Faults.NONE));
    }

    /** Sends packets numbered {@code from}.. and waits until the relay has dealt with them. */
    private void send(FaultRelay relay, int from, int count) {
        for (int i = from; i < from + count; i++) {
            client.send(Peer.numbered(i, BYTES), relay.localAddress());
            if ((i - from + 1) % STRIDE == 0 || i == from + count - 1) {
                long expected = i + 1;
                assertThat(Until.holds(() -> relay.stats().toTarget().received() >= expected))
                        .isTrue();
                target.look();
            }
        }
    }

    private static List<Integer> range(int from, int until) {
        return IntStream.range(from, until).boxed().toList();
    }

    @Test
    void aPerfectLinkChangesNothing() {
        FaultRelay relay = start(options());
        send(relay, 0, 1000);

        assertThat(target.has(1000)).isTrue();
        assertThat(target.numbers()).isEqualTo(range(0, 1000));
        assertThat(relay.stats().toTarget().receivedBytes()).isEqualTo(1000L * BYTES);
        assertThat(relay.stats().toTarget().forwardedBytes()).isEqualTo(1000L * BYTES);
        assertThat(relay.stats().clients()).isOne();
    }

    @Test
    void answersFindTheirWayBackToEachClient() {
        FaultRelay relay = start(options());
        List<Peer> clients = List.of(new Peer(), new Peer(), new Peer());
        for (int i = 0; i < clients.size(); i++) {
            clients.get(i).send(Peer.numbered(i, BYTES), relay.localAddress());
            assertThat(target.has(i + 1)).isTrue();
        }
        Set<Integer> upstreamPorts = new HashSet<>();
        for (Peer.Got got : target.got) {
            upstreamPorts.add(got.from().getPort());
            target.send(Peer.numbered(got.number() + 100, BYTES), got.from());
        }

        assertThat(upstreamPorts).as("the target tells the clients apart").hasSize(3);
        for (int i = 0; i < clients.size(); i++) {
            Peer one = clients.get(i);
            assertThat(one.has(1)).isTrue();
            assertThat(one.numbers()).containsExactly(100 + i);
            assertThat(one.got.get(0).from()).isEqualTo(relay.localAddress());
            assertThat(relay.clientOfPort(one.address().getPort())).isEqualTo(i);
            one.close();
        }
        assertThat(relay.stats().toClient().forwarded()).isEqualTo(3);
        assertThat(relay.clientOfPort(1)).isEqualTo(-1);
    }

    @Test
    void answersFromAnotherPortOfTheTargetAreForwarded() {
        FaultRelay relay = start(options());
        send(relay, 0, 1);
        assertThat(target.has(1)).isTrue();

        try (Peer pathSocket = new Peer()) {
            pathSocket.send(Peer.numbered(5, BYTES), target.got.get(0).from());
            assertThat(client.has(1)).isTrue();
        }
        assertThat(relay.stats().strangers()).isZero();
    }

    @Test
    void answersFromAnotherHostAreNot() {
        FaultRelay relay = start(options());
        send(relay, 0, 1);
        assertThat(target.has(1)).isTrue();

        try (Peer stranger = new Peer(new InetSocketAddress("127.0.0.9", 0))) {
            stranger.send(Peer.numbered(5, BYTES), target.got.get(0).from());
            assertThat(Until.holds(() -> relay.stats().strangers() == 1)).isTrue();
        }
        assertThat(relay.stats().toClient().received()).isZero();
    }

    @Test
    void dropsAreExactlyThoseOfTheSeed() {
        double rate = 0.1;
        FaultRelay relay = start(Faults.builder().dropRate(rate).build());
        send(relay, 0, 2000);

        Rng twin = new Rng(7).fork("to target").fork("drop");
        List<Integer> expected = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            if (!twin.chance(rate)) {
                expected.add(i);
            }
        }
        assertThat(target.has(expected.size())).isTrue();
        assertThat(target.numbers()).isEqualTo(expected);
        assertThat(relay.stats().toTarget().dropped()).isEqualTo(2000 - expected.size());
        assertThat(expected.size()).isBetween(1700, 1900);
    }

    @Test
    void oneFaultDoesNotShiftAnother() {
        Faults both = Faults.builder().dropRate(0.1).duplicate(0.2, 1).corruptRate(0.3).build();
        FaultRelay relay = start(both);
        send(relay, 0, 1000);

        Rng twin = new Rng(7).fork("to target").fork("drop");
        long drops = IntStream.range(0, 1000).filter(i -> twin.chance(0.1)).count();
        assertThat(relay.stats().toTarget().dropped()).isEqualTo(drops);
    }

    @Test
    void everyNthPacketIsDropped() {
        FaultRelay relay = start(Faults.builder().dropEvery(10).build());
        send(relay, 0, 100);

        assertThat(target.has(90)).isTrue();
        assertThat(target.numbers())
                .isEqualTo(range(0, 100).stream().filter(i -> i % 10 != 9).toList());
        assertThat(relay.stats().toTarget().dropped()).isEqualTo(10);
    }

    @Test
    void burstsDropConsecutivePackets_L02() {
        FaultRelay relay = start(Faults.builder().burst(50, 7, 2).build());
        send(relay, 0, 300);

        assertThat(target.has(286)).isTrue();
        assertThat(target.numbers())
                .doesNotContainAnyElementsOf(range(49, 56))
                .doesNotContainAnyElementsOf(range(99, 106))
                .hasSize(286);
        assertThat(relay.stats().toTarget().dropped()).isEqualTo(14);
    }

    @Test
    void duplicatesFollowTheirOriginal_L05() {
        FaultRelay relay = start(Faults.builder().duplicate(1, 9).build());
        send(relay, 0, 20);

        assertThat(target.has(200)).isTrue();
        for (int i = 0; i < 200; i++) {
            assertThat(target.got.get(i).number()).isEqualTo(i / 10);
        }
        assertThat(relay.stats().toTarget().duplicated()).isEqualTo(180);
        assertThat(relay.stats().toTarget().forwarded()).isEqualTo(200);
    }

    @Test
    void corruptionFlipsExactlyOneBit_L08() {
        FaultRelay relay = start(Faults.builder().corruptRate(1).build());
        send(relay, 0, 500);

        assertThat(target.has(500)).isTrue();
        Set<Integer> bits = new HashSet<>();
        for (int i = 0; i < 500; i++) {
            BitSet difference = BitSet.valueOf(target.got.get(i).bytes());
            difference.xor(BitSet.valueOf(Peer.numbered(i, BYTES)));
            assertThat(difference.cardinality()).isOne();
            bits.add(difference.nextSetBit(0));
        }
        assertThat(relay.stats().toTarget().corrupted()).isEqualTo(500);
        assertThat(bits).as("all over the packet").hasSizeGreaterThan(300);
    }

    @Test
    void emptyDatagramsPassEvenThroughCorruption_X02() {
        FaultRelay relay = start(Faults.builder().corruptRate(1).build());
        client.send(new byte[0], relay.localAddress());

        assertThat(target.has(1)).isTrue();
        assertThat(target.got.get(0).bytes()).isEmpty();
        assertThat(relay.stats().toTarget().corrupted()).isZero();
    }

    @Test
    void neighboursChangePlaces_L06() {
        FaultRelay relay = start(Faults.builder().reorderEvery(10, 1).build());
        send(relay, 0, 100);

        // packet 9 lets 10 pass, 19 lets 20 pass, ...; 99 has nobody behind it and goes by time
        List<Integer> expected = new ArrayList<>(range(0, 100));
        for (int i = 9; i < 99; i += 10) {
            expected.set(i, i + 1);
            expected.set(i + 1, i);
        }
        assertThat(target.has(100)).isTrue();
        assertThat(target.numbers()).isEqualTo(expected);
        assertThat(relay.stats().toTarget().reordered()).isEqualTo(9);
        assertThat(relay.stats().toTarget().pending()).isZero();
    }

    @Test
    void aPacketCanBeHeldBackForMany_L06() {
        FaultRelay relay = start(Faults.builder().reorderEvery(50, 16).build());
        send(relay, 0, 90);

        List<Integer> expected = new ArrayList<>(range(0, 49));
        expected.addAll(range(50, 66));
        expected.add(49);
        expected.addAll(range(66, 90));
        assertThat(target.has(90)).isTrue();
        assertThat(target.numbers()).isEqualTo(expected);
    }

    @Test
    void onlyPacketsOfTheSameClientPass() {
        FaultRelay relay = start(options().withFilter(swapFirst()));
        send(relay, 0, 1);
        try (Peer other = new Peer()) {
            other.send(Peer.numbered(100, BYTES), relay.localAddress());
            assertThat(target.has(1)).isTrue();
        }
        assertThat(target.numbers().get(0)).isEqualTo(100);

        assertThat(target.has(2)).as("the one held back goes by time").isTrue();
        assertThat(relay.stats().toTarget().reordered()).isZero();
    }

    private static PacketFilter swapFirst() {
        return (toTarget, packet, index) -> packet.getInt(0) == 0 ? Verdict.SWAP : Verdict.FORWARD;
    }

    @Test
    void delayedPacketsComeInOrderAndNotBeforeTheirTime_L09() {
        FaultRelay relay = start(Faults.builder().delay(20 * MS, 0).build());
        long startNs = System.nanoTime();
        send(relay, 0, 50);
        assertThat(target.has(50)).isTrue();

        assertThat(System.nanoTime() - startNs).isGreaterThanOrEqualTo(20 * MS);
        assertThat(target.numbers()).isEqualTo(range(0, 50));
        assertThat(relay.stats().toTarget().pending()).isZero();
    }

    @Test
    void jitterReordersButLosesNothing() {
        FaultRelay relay = start(Faults.builder().delay(MS, 5 * MS).build());
        send(relay, 0, 200);

        assertThat(target.has(200)).isTrue();
        assertThat(target.numbers())
                .isNotEqualTo(range(0, 200))
                .containsExactlyInAnyOrderElementsOf(range(0, 200));
    }

    @Test
    void clientsCanHaveDifferentDelays_L06() {
        Faults skew = Faults.builder().skewNs(List.of(50 * MS, 0L)).build();
        FaultRelay relay = start(skew);
        try (Peer second = new Peer()) {
            send(relay, 0, 1);
            second.send(Peer.numbered(1, BYTES), relay.localAddress());

            assertThat(target.has(2)).isTrue();
        }
        assertThat(target.numbers()).containsExactly(1, 0);
    }

    @Test
    void longDatagramsVanish_E04() {
        FaultRelay relay = start(Faults.builder().datagramBytesMax(1400).build());
        client.send(Peer.numbered(0, 1400), relay.localAddress());
        client.send(Peer.numbered(1, 1401), relay.localAddress());
        client.send(Peer.numbered(2, 64), relay.localAddress());

        assertThat(target.has(2)).isTrue();
        assertThat(target.numbers()).containsExactly(0, 2);
        assertThat(relay.stats().toTarget().dropped()).isOne();
    }

    @Test
    void theLongestDatagramPassesWhole() {
        FaultRelay relay = start(Faults.builder().delay(MS, 0).build());
        client.send(Peer.numbered(3, 65_507), relay.localAddress());

        assertThat(target.has(1)).isTrue();
        assertThat(target.got.get(0).bytes()).isEqualTo(Peer.numbered(3, 65_507));
    }

    @Test
    void aBlackHoleSwallowsOneClientUntilItIsSwitchedOff_L07() {
        FaultRelay relay = start(options());
        try (Peer other = new Peer()) {
            send(relay, 0, 1);
            other.send(Peer.numbered(1, BYTES), relay.localAddress());
            assertThat(target.has(2)).isTrue();
            InetSocketAddress upstream = target.got.get(0).from();

            relay.blackHole(relay.clientOfPort(client.address().getPort()), true);
            client.send(Peer.numbered(2, BYTES), relay.localAddress());
            target.send(Peer.numbered(3, BYTES), upstream);
            other.send(Peer.numbered(4, BYTES), relay.localAddress());
            assertThat(target.has(3)).isTrue();
            assertThat(
                            Until.holds(
                                    () ->
                                            relay.stats().toTarget().blackHoled() == 1
                                                    && relay.stats().toClient().blackHoled() == 1))
                    .isTrue();

            relay.blackHole(relay.clientOfPort(client.address().getPort()), false);
            client.send(Peer.numbered(5, BYTES), relay.localAddress());
            target.send(Peer.numbered(6, BYTES), upstream);
            assertThat(target.has(4)).isTrue();
            assertThat(client.has(1)).isTrue();
        }
        assertThat(target.numbers()).containsExactly(0, 1, 4, 5);
        assertThat(client.numbers()).containsExactly(6);
    }

    @Test
    void filtersDecideAboutSinglePackets_O01() {
        PacketFilter filter =
                (toTarget, packet, index) ->
                        switch (packet.getInt(0)) {
                            case 1 -> Verdict.DROP;
                            case 3 -> Verdict.DUPLICATE;
                            case 5 -> Verdict.CORRUPT;
                            case 7 -> Verdict.SWAP;
                            default -> Verdict.FORWARD;
                        };
        // the faults would drop everything that passes the filter
        Faults all = Faults.builder().dropRate(1).build();
        FaultRelay relay = start(options().withFilter(filter).withFaults(7, all, all));
        send(relay, 0, 10);

        assertThat(target.has(10)).isTrue();
        List<Integer> numbers = new ArrayList<>(target.numbers());
        assertThat(numbers.get(5)).as("where 5 was, with a flipped bit somewhere").isNotNull();
        numbers.set(5, 5);
        assertThat(numbers).containsExactly(0, 2, 3, 3, 4, 5, 6, 8, 7, 9);
        RelayStats.Direction d = relay.stats().toTarget();
        assertThat(d.dropped()).isOne();
        assertThat(d.duplicated()).isOne();
        assertThat(d.corrupted()).isOne();
        assertThat(d.reordered()).isOne();
    }

    @Test
    void aHeldPacketGoesWhenItIsReleased_C03() {
        PacketFilter filter =
                (toTarget, packet, index) -> packet.getInt(0) < 2 ? Verdict.HOLD : Verdict.PASS;
        FaultRelay relay = start(options().withFilter(filter));
        send(relay, 0, 4);
        assertThat(target.has(2)).isTrue();
        assertThat(relay.stats().toTarget().pending()).isEqualTo(2);

        assertThat(relay.release(true, 1)).isOne();
        assertThat(target.has(3)).isTrue();
        assertThat(relay.release(true, 10)).isOne();
        assertThat(target.has(4)).isTrue();

        assertThat(relay.release(true, 10)).isZero();
        assertThat(relay.release(false, 10)).isZero();
        assertThat(target.numbers()).containsExactly(2, 3, 0, 1);
    }

    @Test
    void packetsCanBeInjectedBothWays_W07() {
        FaultRelay relay = start(options());
        assertThat(relay.inject(true, 0, Peer.numbered(9, BYTES))).isFalse();
        send(relay, 0, 1);

        assertThat(relay.inject(true, 0, Peer.numbered(10, BYTES))).isTrue();
        assertThat(relay.inject(false, 0, Peer.numbered(11, BYTES))).isTrue();

        assertThat(target.has(2)).isTrue();
        assertThat(client.has(1)).isTrue();
        assertThat(target.got.get(1).from()).isEqualTo(target.got.get(0).from());
        assertThat(client.numbers()).containsExactly(11);
        assertThat(relay.stats().toTarget().injected()).isOne();
    }

    @Test
    void faultsCanChangeWhileItRuns_L09() {
        FaultRelay relay = start(options());
        send(relay, 0, 10);
        relay.faults(true, Faults.builder().dropRate(1).build());
        send(relay, 10, 10);
        relay.faults(true, Faults.NONE);
        send(relay, 20, 10);

        assertThat(target.has(20)).isTrue();
        assertThat(target.numbers()).doesNotContainAnyElementsOf(range(10, 20));
        assertThat(relay.stats().toTarget().dropped()).isEqualTo(10);
    }

    @Test
    void theSilentClientMakesRoomForANewOne() {
        FaultRelay relay = start(options().withClients(2, 1000 * MS));
        List<Peer> clients = List.of(new Peer(), new Peer(), new Peer());
        for (int i = 0; i < 3; i++) {
            clients.get(i).send(Peer.numbered(i, BYTES), relay.localAddress());
            assertThat(target.has(i + 1)).isTrue();
        }

        assertThat(relay.stats().clients()).isEqualTo(2);
        assertThat(relay.stats().evicted()).isOne();
        assertThat(relay.clientOfPort(clients.get(0).address().getPort())).isEqualTo(-1);
        assertThat(relay.clientOfPort(clients.get(2).address().getPort())).isZero();
        clients.forEach(Peer::close);
    }

    @Test
    void clientsThatWentAwayAreForgotten() {
        FaultRelay relay = start(options().withClients(8, 100 * MS));
        send(relay, 0, 1);

        assertThat(Until.holds(() -> relay.stats().clients() == 0)).isTrue();
        assertThat(relay.stats().evicted()).isOne();
    }

    @Test
    void aFullStoreDropsAndSaysSo() {
        RelayOptions few = options();
        RelayOptions small =
                new RelayOptions(
                        few.listen(),
                        few.target(),
                        1,
                        Faults.builder().delay(100_000 * MS, 0).build(),
                        Faults.NONE,
                        PacketFilter.NONE,
                        8,
                        1000 * MS,
                        1 << 20,
                        65_536);
        FaultRelay relay = start(small);
        send(relay, 0, 100);

        assertThat(relay.stats().toTarget().pending()).isEqualTo(32);
        assertThat(relay.stats().toTarget().overflowed()).isEqualTo(68);
    }

    @Test
    void aDefectiveFilterStopsTheRelayLoudly() {
        PacketFilter broken =
                (toTarget, packet, index) -> {
                    throw new IllegalStateException("broken filter");
                };
        FaultRelay relay = FaultRelay.start(options().withFilter(broken));
        client.send(Peer.numbered(1, BYTES), relay.localAddress());

        assertThatThrownBy(() -> Until.holds(() -> relay.stats().toTarget().forwarded() > 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("broken filter");
        assertThatThrownBy(relay::close).hasMessageContaining("broken filter");
    }

    @Test
    void aTakenPortIsNamed_I02() {
        assertThatThrownBy(
                        () ->
                                FaultRelay.start(
                                        RelayOptions.between(client.address(), target.address())))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("port " + client.address().getPort())
                .hasMessageContaining("in use");
    }

    @Test
    void closeLeavesNoThread() {
        FaultRelay relay = FaultRelay.start(options());
        String name = "metaroce-relay-" + relay.localAddress().getPort();
        assertThat(Until.threadsNamed(name)).isOne();

        relay.close();
        relay.close();

        assertThat(Until.threadsNamed(name)).isZero();
    }

    @Test
    void sameSeedSameFate() {
        byte[][] fates = new byte[2][1000];
        Faults faults = Faults.builder().dropRate(0.05).duplicate(0.05, 2).build();
        for (byte[] fate : fates) {
            target.look().got.clear();
            try (FaultRelay relay =
                    FaultRelay.start(options().withFaults(99, faults, Faults.NONE))) {
                send(relay, 0, 1000);
                long forwarded = relay.stats().toTarget().forwarded();
                assertThat(target.has((int) forwarded)).isTrue();
                target.numbers().forEach(n -> fate[n]++);
            }
        }

        assertThat(Arrays.equals(fates[0], fates[1])).isTrue();
        assertThat(fates[0]).contains(0, 1, 3);
    }
}
