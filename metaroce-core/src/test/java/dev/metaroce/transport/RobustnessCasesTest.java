package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.testing.Sender;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.SamplePackets;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Cases X01 to X03: what strangers send, and what they may guess. */
class RobustnessCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final NetAddress STRANGER = NetAddress.ofIpv4(0x0A63_6363, 40_000);

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName(
            "X01: mutations of valid packets do no harm to a live transfer and get few answers")
    void x01Mutations(Profile profile) {
        List<byte[]> corpus = recordedPackets(profile);
        SamplePackets.all().forEach(sample -> corpus.add(sample.bytes()));
        DeviceLimits limits = Profiles.only(profile).payloadMtu(1024).build();
        Pair pair = new Pair(1, limits, 1, 8 << 20);
        pair.lab.link(500_000_000L, MS, 100 * MS);
        pair.connect();
        // Mutated requests may well be valid ones.
        pair.server.device.listen(Pair.SERVICE, request -> request.accept());
        pair.clientEnd.fill(pair.lab.rng("data"));
        for (int i = 0; i < 128; i++) {
            pair.write(0, i, i << 16, 1 << 16);
        }
        long[] answers = new long[1];
        pair.lab.addFault(
                packet -> {
                    answers[0] += packet.destination.sameHost(STRANGER) ? packet.bytes.length : 0;
                    return 1;
                });
        // The case has a million: -Dmetaroce.mutations=1000000
        int mutations = Integer.getInteger("metaroce.mutations", 100_000);
        Rng rng = new Rng(101);
        long injected = 0;
        for (int i = 0; i < mutations; i++) {
            byte[] bytes = mutate(rng, corpus);
            Lab.Node to = rng.chance(0.8) ? pair.server : pair.client;
            NetAddress from =
                    rng.chance(0.7)
                            ? STRANGER
                            : to == pair.server ? pair.client.address : pair.server.address;
            injected += from == STRANGER ? bytes.length : 0;
            pair.lab.deliverNow(from, to, bytes);
            pair.lab.step();
        }
        pair.expectSends(128, 10 * SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.clientEnd.connection.failure()).isEmpty();
        assertThat(answers[0]).isLessThan(injected / 100);
        pair.expectNoContexts(2 * limits.silenceNs() + SECOND);
    }

    /** All packets of another pair's life: under other tokens, keys and sequence numbers. */
    private static List<byte[]> recordedPackets(Profile profile) {
        List<byte[]> seen = new ArrayList<>();
        DeviceLimits limits = Profiles.only(profile).payloadMtu(1024).build();
        Pair pair = new Pair(77, limits, 2, 1 << 20);
        Rng chance = new Rng(5);
        pair.lab.addFault(
                packet -> {
                    seen.add(packet.bytes.clone());
                    return chance.chance(0.1) ? 0 : 1;
                });
        pair.connect();
        for (int i = 0; i < 8; i++) {
            pair.receive(1, i, 0, 1 << 16);
            pair.send(1, i, 0, 1 << 14);
            pair.write(0, i, 0, 1 << 16);
        }
        pair.expectSends(16, 10 * SECOND);
        pair.clientEnd.connection.close();
        pair.lab.advance(SECOND);
        return seen;
    }

    private static byte[] mutate(Rng rng, List<byte[]> corpus) {
        byte[] bytes = corpus.get(rng.nextInt(corpus.size())).clone();
        switch (rng.nextInt(4)) {
            case 0 -> {
                for (int i = 0; i <= rng.nextInt(8); i++) {
                    bytes[rng.nextInt(bytes.length)] ^= (byte) (1 << rng.nextInt(8));
                }
            }
            case 1 -> bytes = Arrays.copyOf(bytes, rng.nextInt(2 * bytes.length));
            case 2 -> {
                byte[] other = corpus.get(rng.nextInt(corpus.size()));
                int cut = rng.nextInt(Math.min(bytes.length, other.length));
                System.arraycopy(other, 0, bytes, 0, cut);
            }
            default -> {
                // A header field becomes an edge value.
                int at = Math.min(bytes.length - 4, 4 * rng.nextInt(16));
                byte fill = (byte) (rng.chance(0.5) ? 0 : -1);
                Arrays.fill(bytes, Math.max(0, at), Math.max(0, at) + 4, fill);
            }
        }
        return rng.chance(0.6) && bytes.length >= 4 ? RawPacket.seal(bytes) : bytes;
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("X02: empty datagrams cost a transfer nothing")
    void x02EmptyDatagrams(Profile profile) {
        Pair pair = new Pair(2, Profiles.only(profile).build(), 1, 1 << 20);
        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.connect();
        Sender sender = new Sender(pair, 0, 1 << 16, 32);
        Sender.run(pair, 100 * MS, sender);
        long clean = Sender.run(pair, 200 * MS, sender)[0];
        for (int i = 0; i < 100_000; i++) {
            pair.lab.deliverNow(STRANGER, pair.server, new byte[0]);
        }
        long flooded = Sender.run(pair, 200 * MS, sender)[0];

        assertThat(flooded).isGreaterThan(clean * 7 / 10);
        assertThat(pair.server.count(CounterId.MALFORMED)).isEqualTo(100_000);
    }

    @Test
    @DisplayName("X03: keys have no pattern, do not come back, and cannot be guessed")
    void x03Keys() {
        Pair pair = new Pair(3, DeviceLimits.defaults(), 1, 4096).connect();
        ProtectionDomain domain = pair.server.device.allocProtectionDomain();
        Arena arena = Arena.ofAuto();
        List<Integer> keys = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            MemoryRegion region = domain.register(arena.allocate(8, 8), Access.REMOTE_WRITE);
            keys.add(region.rkey());
            region.close();
        }
        Set<Integer> recent = new HashSet<>();
        Set<Integer> steps = new HashSet<>();
        for (int i = 1; i < keys.size(); i++) {
            steps.add(keys.get(i) - keys.get(i - 1));
            // A freed key rests for 65,536 others.
            assertThat(recent.add(keys.get(i))).isTrue();
            if (i > 65_536) {
                recent.remove(keys.get(i - 65_536));
            }
        }
        assertThat(steps).hasSizeGreaterThan(99_900);
    }

    /** The tries of one peer meet an access error each, and are counted. */
    @Test
    @DisplayName("X03: random keys do not open a region")
    void x03RandomKeys() {
        Pair pair = new Pair(3, DeviceLimits.defaults(), 1000, 4096).connect();
        pair.serverEnd.region.segment().fill((byte) 7);
        Rng rng = new Rng(3);
        for (int stream = 0; stream < 1000; stream++) {
            Pair.must(
                    stream,
                    pair.clientEnd
                            .pairs
                            .get(stream)
                            .postWrite(
                                    stream,
                                    pair.clientEnd.region,
                                    0,
                                    64,
                                    pair.serverEnd.region.address(),
                                    rng.nextInt()));
        }
        pair.lab.expect(
                "all refused",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.size() == 1000;
                },
                10 * SECOND);

        assertThat(pair.clientEnd.sends)
                .allMatch(wc -> wc.status() == WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.server.count(CounterId.ACCESS_REFUSED)).isGreaterThanOrEqualTo(1000);
        assertThat(pair.serverEnd.region.segment().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE))
                .containsOnly(7);
        int hits = 0;
        for (int i = 0; i < 1_000_000; i++) {
            hits += pair.server.engine.regions().lookup(rng.nextInt()) == null ? 0 : 1;
        }
        assertThat(hits).isZero();
    }

    /**
     * A peer that lies: packets of the live connection are changed and get a right checksum.
     * Nothing may be expected of this connection; the devices must live on and serve the next one.
     */
    @Seeded(cases = 60)
    void aLyingPeerBreaksItsOwnConnectionOnly(long seed) {
        Rng rng = new Rng(seed);
        Profile profile = rng.chance(0.3) ? Profile.S : Profile.M;
        DeviceLimits limits =
                Profiles.only(profile).payloadMtu(1024).maxPaths(4).contexts(4).build();
        Pair pair = new Pair(seed, limits, 3, 1 << 20);
        List<byte[]> live = new ArrayList<>();
        double rate = rng.chance(0.5) ? 0.02 : 0.3;
        pair.lab.addFault(
                packet -> {
                    live.add(packet.bytes);
                    if (rng.chance(rate)) {
                        List<byte[]> from = rng.chance(0.8) ? List.of(packet.bytes) : live;
                        packet.bytes = lie(mutate(rng, from), packet.bytes);
                    }
                    return rng.chance(0.05) ? 2 : 1;
                });
        for (int i = 0; i < 30; i++) {
            int stream = i % 3;
            pair.clientEnd.pairs.get(stream).postSend(i, pair.clientEnd.region, 0, 3000);
            pair.clientEnd
                    .pairs
                    .get(stream)
                    .postWrite(
                            100 + i,
                            pair.clientEnd.region,
                            0,
                            10_000,
                            pair.serverEnd.region.address(),
                            pair.serverEnd.region.rkey());
            for (QueuePair qp : pair.serverEnd.pairs) {
                qp.postReceive(i, pair.serverEnd.region, 0, 4096);
                qp.postSend(i, pair.serverEnd.region, 0, 5000);
            }
            pair.lab.advance(rng.nextInt(5_000_000));
            pair.clientEnd.poll();
            pair.serverEnd.poll();
        }
        pair.lab.advance(2 * SECOND);
        pair.lab.heal();
        pair.server.device.listen(8, request -> request.accept());
        Connection next = pair.client.device.connect(pair.server.address, 8, new byte[0]);
        pair.lab.expect(
                "the next connection",
                () -> next.state() == ConnectionState.OPEN,
                4 * limits.silenceNs());
        pair.lab.advance(2 * limits.silenceNs() + 2 * limits.giveUpNs());
    }

    private static byte[] lie(byte[] changed, byte[] original) {
        if (changed.length < 8) {
            return changed;
        }
        // Who forges requests in the name of an endpoint can use up its nonces; that is another
        // matter.
        return RawPacket.is(changed, ControlOpcode.REQUEST) ? original : RawPacket.seal(changed);
    }
}
