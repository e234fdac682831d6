package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;

import java.util.Arrays;
import java.util.HashSet;

/** Packets with a right ICRC and wrong contents: they may end queue pairs, and nothing else. */
class RoceForgedTest {
    private static final int BYTES = 1 << 16;

    /** A packet with some header bits flipped, or cut short; sealed again. */
    private static byte[] forged(Lab.Packet packet, Rng rng) {
        int cut = rng.chance(0.2) ? rng.nextInt(packet.bytes.length) : packet.bytes.length;
        int length = Math.max(Bth.BYTES + Icrc.BYTES, cut);
        Lab.Packet shorter = new Lab(0).copy(packet, Arrays.copyOf(packet.bytes, length));
        return RocePackets.changed(
                shorter,
                m -> {
                    for (int i = rng.nextInt(4); i >= 0; i--) {
                        int at = rng.nextInt(Math.min(44, length - Icrc.BYTES));
                        m.put8(at, m.u8(at) ^ (1 << rng.nextInt(8)));
                    }
                });
    }

    @Seeded(cases = 100)
    void nothingIsThrownAndEveryRequestEndsOnce(long seed) {
        Rng rng = new Rng(seed);
        int mtu = 256 << rng.nextInt(5);
        Pair pair =
                Pair.ofRoce(
                        seed,
                        RocePackets.mtu(mtu),
                        plain -> plain.toBuilder().ackTimeout(8).build(),
                        2,
                        BYTES);
        pair.connect();
        Reader reader = new Reader(pair, BYTES);
        int[] forged = new int[1];
        pair.lab.addFault(
                packet -> {
                    if (rng.chance(0.3)) {
                        forged[0]++;
                        pair.lab.inject(pair.lab.copy(packet, forged(packet, rng)));
                    }
                    return 1;
                });
        int posted = 0;
        for (int i = 0; i < 100; i++) {
            int length = rng.nextInt(3000);
            int at = rng.nextInt(BYTES / 2 - length);
            int stream = rng.nextInt(2);
            if (pair.clientEnd.pairs.get(stream).inError()) {
                break;
            }
            switch (rng.nextInt(4)) {
                case 0 -> pair.write(stream, i, at, length);
                case 1 -> {
                    pair.receive(stream, i, at, 3000);
                    pair.send(stream, i, at, length);
                }
                case 2 -> reader.read(stream, i, at, length);
                default -> reader.add(stream, i, 8, 8, 1);
            }
            posted++;
            pair.lab.advance(rng.nextInt(50_000));
        }
        pair.lab.advance(20_000_000_000L);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends).hasSize(posted);
        assertThat(new HashSet<>(pair.clientEnd.sends.stream().map(wc -> wc.wrId()).toList()))
                .hasSize(posted);
        assertThat(forged[0]).isPositive();
    }
}
