package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.SendRequest;

import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Random operations over a network that loses, copies, delays and spoils packets, against plain
 * arrays that say what the memory has to be.
 *
 * <p>The server's region is in three parts: one that is written, one that is read and never
 * changes, and one with a word for each queue pair that atomics add to.
 */
class RoceRandomTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int PART = 1 << 16;
    private static final int WORDS_AT = 2 * PART;
    private static final int BYTES = WORDS_AT + 64;
    private static final int OPERATIONS = 60;

    /** One queue pair of the client, what it has posted, and what is to come of it. */
    private static final class Flow {
        final QueuePair qp;
        final int number;
        final int partStart;
        final int partBytes;
        final ArrayDeque<Long> expected = new ArrayDeque<>();
        final List<int[]> reads = new ArrayList<>();
        long added;
        int atomics;
        int receives;

        Flow(QueuePair qp, int number, int flows) {
            this.qp = qp;
            this.number = number;
            partBytes = PART / flows;
            partStart = number * partBytes;
        }
    }

    private final SendRequest request = new SendRequest();

    private static RoceSettings settings(RoceSettings plain, Rng rng) {
        return plain.toBuilder()
                .ackTimeout(8 + rng.nextInt(3))
                .trigger(rng.chance(0.5) ? GoBackN.NAIVE : GoBackN.REPAIRED)
                .packetsPerAck(1 + rng.nextInt(20))
                .windowPackets(1 + rng.nextInt(64))
                .maxReadAtomic(1 + rng.nextInt(16))
                .build();
    }

    private static Lab.Fault faults(Rng rng, double loss) {
        int reorderNs = rng.chance(0.5) ? 1 : 20_000;
        return packet -> {
            packet.delayNs += rng.nextInt(reorderNs);
            if (rng.chance(0.01)) {
                packet.bytes[rng.nextInt(packet.bytes.length)] ^= (byte) (1 << rng.nextInt(8));
            }
            return rng.chance(loss) ? 0 : rng.chance(0.03) ? 2 : 1;
        };
    }

    @Seeded(cases = 150)
    void everythingArrivesOnceAndInOrder(long seed) {
        Rng rng = new Rng(seed);
        int mtu = 256 << rng.nextInt(5);
        int flows = 1 + rng.nextInt(3);
        Pair pair =
                Pair.ofRoce(
                        seed,
                        RocePackets.mtu(mtu),
                        plain -> settings(plain, new Rng(seed)),
                        flows,
                        BYTES);
        pair.connect();
        pair.clientEnd.fill(rng);
        pair.serverEnd.fill(rng);
        for (int i = 0; i < 64; i += 8) {
            pair.serverEnd.region.segment().set(ValueLayout.JAVA_LONG, WORDS_AT + i, 0);
        }
        byte[] model = bytes(pair.serverEnd);
        pair.lab.addFault(faults(rng, rng.nextInt(5) / 100.0));
        Reader reader = new Reader(pair, flows * (PART + 8L * OPERATIONS));
        Flow[] all = new Flow[flows];
        for (int i = 0; i < flows; i++) {
            all[i] = new Flow(pair.clientEnd.pairs.get(i), i, flows);
        }
        for (int i = 0; i < OPERATIONS; i++) {
            post(pair, reader, all[rng.nextInt(flows)], model, mtu, i, rng);
            if (rng.chance(0.2)) {
                pair.lab.advance(rng.nextInt(300_000));
            }
        }
        pair.expectSends(OPERATIONS, 60 * SECOND_NS);
        pair.serverEnd.poll();
        check(pair, reader, all, model);
    }

    private void post(
            Pair pair, Reader reader, Flow flow, byte[] model, int mtu, long id, Rng rng) {
        int length = Math.min(rng.nextInt(1 + rng.nextInt(8 * mtu)), flow.partBytes);
        int at = flow.partStart + rng.nextInt(flow.partBytes - length + 1);
        long va = pair.serverEnd.region.address();
        int key = pair.serverEnd.region.rkey();
        request.wrId(id).fence(rng.chance(0.1)).local(pair.clientEnd.region, at, length);
        switch (rng.nextInt(6)) {
            case 0 -> {
                request.write(va + at, key);
                copy(pair, model, at, length);
            }
            case 1 -> {
                receive(pair, flow, at, length, rng);
                request.writeWithImmediate(va + at, key, (int) id);
                copy(pair, model, at, length);
            }
            case 2 -> {
                receive(pair, flow, at, length, rng);
                request.sendWithImmediate((int) id);
                copy(pair, model, at, length);
            }
            case 3 -> {
                receive(pair, flow, at, length, rng);
                request.send();
                copy(pair, model, at, length);
            }
            case 4 -> {
                flow.reads.add(new int[] {at, length});
                request.read(va + PART + at, key)
                        .local(reader.local, (long) flow.number * PART + at, length);
            }
            default -> {
                long to = (long) pair.clientEnd.pairs.size() * PART + 8 * id;
                flow.added += id + 1;
                flow.atomics++;
                request.fetchAndAdd(va + WORDS_AT + 8L * flow.number, key, id + 1)
                        .local(reader.local, to, 8);
            }
        }
        Pair.must(id, flow.qp.post(request));
        flow.expected.add(id);
    }

    /** The receive of a message, sometimes too late at first. */
    private static void receive(Pair pair, Flow flow, int at, int length, Rng rng) {
        if (rng.chance(0.3)) {
            pair.lab.advance(rng.nextInt(400_000));
        }
        pair.receive(flow.number, flow.receives++, at, length);
    }

    private static void copy(Pair pair, byte[] model, int at, int length) {
        byte[] sent = new byte[length];
        pair.clientEnd.region.segment().asSlice(at, length).asByteBuffer().get(sent);
        System.arraycopy(sent, 0, model, at, length);
    }

    private static byte[] bytes(Pair.End end) {
        return end.region.segment().toArray(ValueLayout.JAVA_BYTE);
    }

    private static void check(Pair pair, Reader reader, Flow[] flows, byte[] model) {
        List<WorkCompletion> done = pair.clientEnd.sends;
        assertThat(done).hasSize(OPERATIONS);
        int receives = 0;
        int atomics = 0;
        for (Flow flow : flows) {
            assertThat(done.stream().filter(wc -> wc.owner() == flow.qp))
                    .extracting(WorkCompletion::wrId)
                    .containsExactlyElementsOf(flow.expected);
            assertThat(pair.serverEnd.region.segment())
                    .extracting(m -> m.get(ValueLayout.JAVA_LONG, WORDS_AT + 8L * flow.number))
                    .isEqualTo(flow.added);
            receives += flow.receives;
            atomics += flow.atomics;
        }
        assertThat(pair.server.count(CounterId.ATOMICS_EXECUTED)).isEqualTo(atomics);
        assertThat(pair.serverEnd.receives).hasSize(receives);
        assertThat(pair.serverEnd.receives).allMatch(wc -> wc.status() == WcStatus.SUCCESS);
        byte[] there = bytes(pair.serverEnd);
        assertThat(Arrays.mismatch(there, 0, WORDS_AT, model, 0, WORDS_AT)).isEqualTo(-1);
        for (Flow flow : flows) {
            checkReads(reader, flow, there);
        }
        checkAtomics(pair, reader, done);
    }

    private static void checkReads(Reader reader, Flow flow, byte[] there) {
        byte[] read = reader.local.segment().toArray(ValueLayout.JAVA_BYTE);
        for (int[] range : flow.reads) {
            int from = flow.number * PART + range[0];
            int of = PART + range[0];
            assertThat(Arrays.equals(read, from, from + range[1], there, of, of + range[1]))
                    .as("what was read")
                    .isTrue();
        }
    }

    /** An atomic gives what was added before. */
    private static void checkAtomics(Pair pair, Reader reader, List<WorkCompletion> done) {
        long[] sums = new long[pair.clientEnd.pairs.size()];
        for (WorkCompletion wc : done) {
            int flow = pair.clientEnd.pairs.indexOf((QueuePair) wc.owner());
            if (wc.opcode() == WcOpcode.FETCH_ADD) {
                assertThat(reader.word((long) sums.length * PART + 8 * wc.wrId()))
                        .isEqualTo(sums[flow]);
                sums[flow] += wc.wrId() + 1;
            }
        }
    }
}
