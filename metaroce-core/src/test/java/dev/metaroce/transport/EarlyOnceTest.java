package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/**
 * Messages that follow pauses, on a network that loses, copies, reorders and holds back: each is
 * executed once, or its connection fails and it was executed at most once.
 */
class EarlyOnceTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int MESSAGES = 12;
    private static final int ROOM = 1024;

    /** One stream and what became of its messages. */
    private static final class Flow {
        private final Pair.End end;
        private final int stream;
        private final int number;
        private int posted;
        private int received;
        private int completed;
        private boolean failed;

        private Flow(Pair.End end, int stream, int number) {
            this.end = end;
            this.stream = stream;
            this.number = number;
        }
    }

    private final List<Flow> flows = new ArrayList<>();
    private final int[] receivesPosted = new int[16];
    private Pair pair;
    private Rng rng;

    private static long pick(Rng rng, long... choices) {
        return choices[rng.nextInt(choices.length)];
    }

    private DeviceLimits limits() {
        return DeviceLimits.defaults().toBuilder()
                .profiles(1 + rng.nextInt(2))
                .payloadMtu(512)
                .contexts((int) pick(rng, 1, 1, 2, 256))
                .policy(rng.chance(0.3) ? ExhaustionPolicy.DENY : ExhaustionPolicy.QUEUE)
                .lingerNs(pick(rng, 0, MS, 10 * MS))
                .silenceNs(pick(rng, 10 * MS, 50 * MS, 2 * SECOND))
                .grantUnusedNs(pick(rng, 5 * MS, 250 * MS))
                .packetLifetimeNs(20 * MS)
                .giveUpNs(30 * SECOND)
                .build();
    }

    @Seeded(cases = 400)
    void everyMessageIsExecutedOnce(long seed) {
        rng = new Rng(seed);
        int streams = 1 + rng.nextInt(2);
        pair = new Pair(seed, limits(), streams, (long) MESSAGES * ROOM).connect();
        pair.clientEnd.fill(rng.fork("data"));
        addFlows(pair.clientEnd, streams);
        for (int again = rng.nextInt(3); again > 0; again--) {
            Pair.End end = pair.dialAgain();
            pair.lab.expect(
                    "connected", () -> end.connection.state() == ConnectionState.OPEN, SECOND);
            addFlows(end, streams);
        }
        pair.lab.addFault(this::fault);
        while (flows.stream().anyMatch(flow -> flow.posted < MESSAGES)) {
            Flow flow = flows.get(rng.nextInt(flows.size()));
            for (int burst = rng.nextInt(3); burst >= 0 && flow.posted < MESSAGES; burst--) {
                post(flow);
            }
            pair.lab.advance(rng.nextInt(3) == 0 ? 0 : rng.nextInt((int) (40 * MS)));
            look();
        }
        pair.lab.driveUntil(this::isOver, 20 * SECOND);
        pair.lab.heal();
        pair.lab.expect("all done", this::isOver, 120 * SECOND);
        pair.lab.advance(2 * SECOND);
        look();
        for (Flow flow : flows) {
            if (!flow.failed) {
                assertThat(flow.received)
                        .as("received by flow %d", flow.number)
                        .isEqualTo(MESSAGES);
            }
        }
    }

    private void addFlows(Pair.End end, int streams) {
        for (int i = 0; i < streams; i++) {
            flows.add(new Flow(end, i, flows.size()));
        }
    }

    private int fault(Lab.Packet packet) {
        boolean control = (packet.bytes[0] & 0xF) == 4;
        boolean request = RawPacket.is(packet.bytes, ControlOpcode.REQUEST);
        packet.delayNs += rng.chance(0.2) ? rng.nextInt((int) (3 * MS)) : 0;
        if (rng.chance(control ? 0.3 : 0.1)) {
            Lab.Packet late = pair.lab.copy(packet, packet.bytes.clone());
            late.delayNs = rng.nextInt((int) (request ? 900 * MS : 15 * MS));
            pair.lab.inject(late);
        }
        return rng.chance(control ? 0.25 : 0.05) ? 0 : 1;
    }

    private void post(Flow flow) {
        int number = flow.posted++;
        int server = flow.number;
        long id = (long) server << 32 | number;
        long length = rng.chance(0.2) ? ROOM : rng.nextInt(300);
        var from = flow.end.region;
        if (rng.chance(0.7)) {
            postReceive(flow, number);
        }
        Pair.must(
                id,
                flow.end
                        .pairs
                        .get(flow.stream)
                        .postSendWithImmediate(
                                id, from, (long) number * ROOM, length, number, true));
        if (rng.chance(0.5)) {
            pair.lab.advance(rng.nextInt((int) MS));
        }
        while (receivesPosted[server] < flow.posted) {
            postReceive(flow, receivesPosted[server]);
        }
    }

    private void postReceive(Flow flow, int number) {
        long id = (long) flow.number << 32 | number;
        receivesPosted[flow.number]++;
        Pair.must(
                id,
                pair.serverEnd
                        .pairs
                        .get(flow.number)
                        .postReceive(id, pair.serverEnd.region, (long) number * ROOM, ROOM));
    }

    /** Takes completions and holds them against what was posted. */
    private void look() {
        pair.serverEnd.poll();
        for (WorkCompletion wc : pair.serverEnd.receives) {
            Flow flow = flows.get((int) (wc.wrId() >>> 32));
            if (wc.status() == WcStatus.SUCCESS) {
                assertThat(wc.immediate())
                        .as("order of flow %d", flow.number)
                        .isEqualTo(flow.received);
                flow.received++;
            }
        }
        pair.serverEnd.receives.clear();
        for (Pair.End end : flows.stream().map(flow -> flow.end).distinct().toList()) {
            end.poll();
            for (WorkCompletion wc : end.sends) {
                Flow flow = flows.get((int) (wc.wrId() >>> 32));
                assertThat((int) wc.wrId()).isEqualTo(flow.completed);
                flow.completed++;
                flow.failed |= wc.status() != WcStatus.SUCCESS;
                if (wc.status() == WcStatus.SUCCESS) {
                    assertThat(flow.received).isGreaterThanOrEqualTo(flow.completed);
                }
            }
            end.sends.clear();
        }
    }

    private boolean isOver() {
        look();
        return flows.stream().allMatch(flow -> flow.completed == MESSAGES);
    }

    /** The test above is of use only when messages ride. */
    @Test
    void messagesRideUnderSuchLimits() {
        int rode = 0;
        int lost = 0;
        for (int seed = 0; seed < 40; seed++) {
            EarlyOnceTest test = new EarlyOnceTest();
            test.everyMessageIsExecutedOnce(seed);
            rode += (int) test.pair.server.count(CounterId.EARLY_ACCEPTED);
            lost += test.flows.stream().anyMatch(flow -> flow.failed) ? 1 : 0;
        }
        assertThat(rode).isGreaterThan(200);
        assertThat(lost).isLessThan(10);
    }
}
