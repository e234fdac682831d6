package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.util.TreeSet;

/** The packed receive contexts against sets and plain fields. */
class RxContextsModelTest {
    private static final DeviceLimits LIMITS =
            DeviceLimits.defaults().toBuilder().contexts(4).maxPaths(3).openMessages(5).build();

    private final RxContexts contexts = new RxContexts(LIMITS);
    private final TransportConnection connection =
            TransportConnection.dialed(1, NetAddress.ofIpv4(1, 1), 1, new byte[0]);

    /** What a path received, as numbers counted from its first PSN. */
    private static final class NaivePath {
        final TreeSet<Long> beyond = new TreeSet<>();
        long next;

        boolean take(long number) {
            if (number < next || !beyond.add(number)) {
                return false;
            }
            while (beyond.remove(next)) {
                next++;
            }
            return true;
        }
    }

    @Seeded(cases = 40)
    void windowsAgreeWithSetsAcrossTheWrap(long seed) {
        Rng rng = new Rng(seed);
        int firstPsn = rng.chance(0.5) ? -rng.nextInt(600) : rng.nextInt();
        for (int cid = 0; cid < 4; cid++) {
            contexts.init(cid, connection, cid, 7, 9, 3, true, firstPsn, 0);
        }
        NaivePath[][] naive = new NaivePath[4][3];
        for (NaivePath[] row : naive) {
            for (int i = 0; i < row.length; i++) {
                row[i] = new NaivePath();
            }
        }
        for (int step = 0; step < 2_000; step++) {
            int cid = rng.nextInt(4);
            int path = rng.nextInt(3);
            NaivePath twin = naive[cid][path];
            long number = twin.next + (rng.chance(0.3) ? 0 : rng.nextInt(257));
            int ahead = (int) (firstPsn + number) - contexts.cumPsn(cid, path);
            assertThat(ahead).isEqualTo((int) (number - twin.next));
            boolean known = ahead > 0 && contexts.received(cid, path, ahead);
            assertThat(known).isEqualTo(twin.beyond.contains(number));
            if (!known) {
                contexts.mark(cid, path, ahead);
            }
            assertThat(twin.take(number)).isEqualTo(!known);
            check(cid, path, firstPsn, twin);
        }
    }

    private void check(int cid, int path, int firstPsn, NaivePath twin) {
        assertThat(contexts.cumPsn(cid, path)).isEqualTo((int) (firstPsn + twin.next));
        assertThat(contexts.hasHole(cid, path)).isEqualTo(!twin.beyond.isEmpty());
        int at = contexts.bitmapAt(path);
        int bits = 0;
        for (int bit = WindowBitmap.nextSet(contexts.row(cid), at, 0);
                bit >= 0;
                bit =
                        bit + 1 < WindowBitmap.BITS
                                ? WindowBitmap.nextSet(contexts.row(cid), at, bit + 1)
                                : -1) {
            assertThat(twin.beyond).contains(twin.next + 1 + bit);
            bits++;
        }
        assertThat(bits).isEqualTo(twin.beyond.size());
    }

    /** One field's change leaves every other field, path and context as it was. */
    @Seeded(cases = 200)
    void fieldsDoNotTouchEachOther(long seed) {
        Rng rng = new Rng(seed);
        Fields[] twins = new Fields[4];
        for (int cid = 0; cid < 4; cid++) {
            twins[cid] = new Fields(rng);
            Fields twin = twins[cid];
            contexts.init(
                    cid,
                    connection,
                    twin.peer,
                    twin.nonce,
                    twin.srcCtx,
                    3,
                    twin.selective,
                    twin.initialPsn,
                    4096L * twin.heard);
        }
        for (int step = 0; step < 500; step++) {
            int cid = rng.nextInt(4);
            twins[cid].change(rng, contexts, cid);
            for (int i = 0; i < 4; i++) {
                twins[i].check(contexts, i);
            }
        }
    }

    /** A context as plain fields. */
    private static final class Fields {
        final int peer;
        final long nonce;
        final int srcCtx;
        final boolean selective;
        final int initialPsn;
        long payload;
        long sinceAck;
        int hint;
        int hintSeq;
        long heard;
        int ackMask;
        int probeMask;
        final boolean[] ce = new boolean[3];
        final int[] cePackets = new int[3];
        final int[] echo = new int[3];
        final int[] arrival = new int[3];
        int flags;

        Fields(Rng rng) {
            peer = rng.nextInt(4096);
            nonce = rng.nextLong();
            srcCtx = rng.nextInt(65_536);
            selective = rng.chance(0.5);
            initialPsn = rng.nextInt();
            heard = rng.nextInt(1 << 30);
        }

        void change(Rng rng, RxContexts contexts, int cid) {
            int path = rng.nextInt(3);
            switch (rng.nextInt(9)) {
                case 0 -> {
                    int bytes = rng.nextInt(65_409);
                    payload += bytes;
                    sinceAck += bytes;
                    assertThat(contexts.addPayload(cid, bytes)).isEqualTo(sinceAck);
                }
                case 1 -> {
                    sinceAck = 0;
                    contexts.clearBytesSinceAck(cid);
                }
                case 2 -> {
                    int value = rng.chance(0.2) ? AckHeader.RATE_NONE : rng.nextInt(1 << 24);
                    hintSeq = value == hint ? hintSeq : hintSeq + 1 & 0xFF;
                    hint = value;
                    contexts.rateHint(cid, value);
                }
                case 3 -> {
                    heard += rng.nextInt(1000);
                    contexts.heard(cid, heard * 4096);
                }
                case 4 -> {
                    ackMask |= 1 << path;
                    contexts.owePathAck(cid, path);
                }
                case 5 -> {
                    probeMask |= 1 << path;
                    contexts.notePathProbe(cid, path);
                }
                case 6 -> {
                    boolean now = rng.chance(0.5);
                    assertThat(contexts.notePathCe(cid, path, now)).isEqualTo(ce[path] != now);
                    ce[path] = now;
                }
                case 7 -> {
                    echo[path] = rng.nextInt();
                    arrival[path] = rng.nextInt();
                    boolean marked = rng.chance(0.5);
                    cePackets[path] += marked ? 1 : 0;
                    contexts.arrived(cid, path, echo[path], arrival[path], marked);
                }
                default -> settleOrFlag(rng, contexts, cid);
            }
        }

        private void settleOrFlag(Rng rng, RxContexts contexts, int cid) {
            int flag = 1 << rng.nextInt(6);
            if (rng.chance(0.3)) {
                contexts.settleAcks(cid);
                ackMask = 0;
                probeMask = 0;
                flags &= ~(RxContexts.ACK_NOW | RxContexts.ACK_LISTED);
            } else if (rng.chance(0.5)) {
                contexts.set(cid, flag);
                flags |= flag;
            } else {
                contexts.unset(cid, flag);
                flags &= ~flag;
            }
        }

        void check(RxContexts contexts, int cid) {
            assertThat(contexts.peer(cid)).isEqualTo(peer);
            assertThat(contexts.nonce(cid)).isEqualTo(nonce);
            assertThat(contexts.srcCtx(cid)).isEqualTo(srcCtx);
            assertThat(contexts.paths(cid)).isEqualTo(3);
            assertThat(contexts.selective(cid)).isEqualTo(selective);
            assertThat(contexts.initialPsn(cid)).isEqualTo(initialPsn);
            assertThat(contexts.payloadBytes(cid)).isEqualTo(payload);
            assertThat(contexts.rateHint(cid)).isEqualTo(hint);
            assertThat(contexts.hintSeq(cid)).isEqualTo(hintSeq);
            assertThat(contexts.silenceNs(cid, heard * 4096 + 40_960)).isEqualTo(40_960);
            assertThat(contexts.ackMask(cid)).isEqualTo(ackMask);
            assertThat(contexts.probeMask(cid)).isEqualTo(probeMask);
            for (int path = 0; path < 3; path++) {
                assertThat(contexts.ceMask(cid) >> path & 1).isEqualTo(ce[path] ? 1 : 0);
                assertThat(contexts.cePackets(cid, path)).isEqualTo(cePackets[path]);
                assertThat(contexts.echoTime(cid, path)).isEqualTo(echo[path]);
                assertThat(contexts.arrivalTime(cid, path)).isEqualTo(arrival[path]);
                assertThat(contexts.cumPsn(cid, path)).isEqualTo(initialPsn);
            }
            for (int bit = 0; bit < 6; bit++) {
                assertThat(contexts.has(cid, 1 << bit)).isEqualTo((flags >> bit & 1) != 0);
            }
        }
    }

    @Test
    void aContextStartsCleanWhateverItsLastHolderLeft() {
        contexts.init(1, connection, 3, 7, 9, 3, true, 100, 0);
        contexts.mark(1, 2, 5);
        contexts.addPayload(1, 1000);
        contexts.set(1, RxContexts.RECLAIM_ASKED);
        contexts.notePathCe(1, 1, true);
        contexts.countMessage(1, 4, 0, 0, 77);
        contexts.clear(1);
        assertThat(contexts.connection(1)).isNull();
        contexts.init(1, connection, 3, 8, 9, 3, true, 200, 0);

        assertThat(contexts.hasHole(1, 2)).isFalse();
        assertThat(contexts.cumPsn(1, 2)).isEqualTo(200);
        assertThat(contexts.payloadBytes(1)).isZero();
        assertThat(contexts.has(1, RxContexts.RECLAIM_ASKED)).isFalse();
        assertThat(contexts.ceMask(1)).isZero();
        assertThat(contexts.countMessage(1, 4, 0, 0, 5)).isEqualTo(5);
    }
}
