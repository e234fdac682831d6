package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

class WaitingLineTest {
    private static final int CAPACITY = 12;

    private record Waiter(
            int peer, long nonce, int srcCtx, int paths, boolean sack, int who, long heardNs) {}

    private static TransportConnection[] connections() {
        TransportConnection[] made = new TransportConnection[20];
        for (int i = 0; i < made.length; i++) {
            made[i] = TransportConnection.dialed(i, NetAddress.ofIpv4(i, 1), 1, new byte[0]);
        }
        return made;
    }

    @Seeded(cases = 200)
    void agreesWithAMap(long seed) {
        Rng rng = new Rng(seed);
        TransportConnection[] connections = connections();
        WaitingLine line = new WaitingLine(CAPACITY);
        Map<Integer, Waiter> twin = new LinkedHashMap<>();
        long nowNs = 1;
        long nonce = 1;
        for (int step = 0; step < 400; step++) {
            nowNs += rng.nextInt(100);
            if (rng.chance(0.6)) {
                Waiter waiter =
                        new Waiter(
                                rng.nextInt(5),
                                nonce++,
                                rng.nextInt(65_536),
                                1 + rng.nextInt(16),
                                rng.chance(0.5),
                                rng.nextInt(connections.length),
                                nowNs);
                int ticket =
                        line.prepare(
                                waiter.peer,
                                waiter.nonce,
                                waiter.srcCtx,
                                waiter.paths,
                                waiter.sack,
                                connections[waiter.who],
                                nowNs);
                assertThat(ticket < 0).isEqualTo(twin.size() == CAPACITY + 1);
                if (ticket >= 0) {
                    assertThat(twin.put(ticket, waiter)).isNull();
                }
            } else if (!twin.isEmpty()) {
                List<Integer> tickets = new ArrayList<>(twin.keySet());
                int ticket = tickets.get(rng.nextInt(tickets.size()));
                line.drop(ticket);
                twin.remove(ticket);
            }
            check(line, twin, connections, nowNs);
        }
    }

    private static void check(
            WaitingLine line,
            Map<Integer, Waiter> twin,
            TransportConnection[] connections,
            long nowNs) {
        twin.forEach(
                (ticket, waiter) -> {
                    assertThat(line.find(waiter.peer, waiter.nonce)).isEqualTo(ticket);
                    assertThat(line.peer(ticket)).isEqualTo(waiter.peer);
                    assertThat(line.nonce(ticket)).isEqualTo(waiter.nonce);
                    assertThat(line.srcCtx(ticket)).isEqualTo(waiter.srcCtx);
                    assertThat(line.paths(ticket)).isEqualTo(waiter.paths);
                    assertThat(line.selective(ticket)).isEqualTo(waiter.sack);
                    assertThat(line.connection(ticket)).isSameAs(connections[waiter.who]);
                });
        int silent = line.silent(nowNs, 1_000);
        boolean any = twin.values().stream().anyMatch(w -> nowNs - w.heardNs > 1_000);
        assertThat(silent >= 0).isEqualTo(any);
        if (any) {
            assertThat(nowNs - twin.get(silent).heardNs).isGreaterThan(1_000);
        }
        for (TransportConnection connection : connections) {
            int ticket = line.find(connection);
            boolean waits = twin.values().stream().anyMatch(w -> connections[w.who] == connection);
            assertThat(ticket >= 0).isEqualTo(waits);
        }
    }

    @Test
    void aWaiterThatIsHeardIsNotSilent() {
        WaitingLine line = new WaitingLine(2);
        TransportConnection connection = connections()[0];
        int ticket = line.prepare(1, 1, 1, 1, true, connection, 0);
        line.heard(ticket, 500);

        assertThat(line.silent(1_000, 600)).isEqualTo(-1);
        assertThat(line.silent(1_200, 600)).isEqualTo(ticket);
    }
}
