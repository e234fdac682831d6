package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.RequestFields;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Strangers that ask a crowded target have to show that their address is theirs. */
class CookieTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long SERVICE = 9;
    private static final int FLOOD = 100_000;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();
    private static final NetAddress HERE = NetAddress.ofIpv4(0x0A00_0001, 50_791);

    private final PacketMemory memory = new PacketMemory(256);

    private static Cookies cookies(long seed) {
        Rng rng = new Rng(seed);
        return new Cookies(rng::nextInt);
    }

    /** MR-3.8-10. */
    @Test
    void aCookieIsGoodForOneAddressEndpointAndConnection() {
        Cookies cookies = cookies(1);
        long cookie = cookies.of(5, HERE, 1, 2);

        assertThat(cookies.isValid(cookie, 6, HERE, 1, 2)).isTrue();
        NetAddress otherPort = NetAddress.ofIpv4(0x0A00_0001, 4_000);
        assertThat(cookies.isValid(cookie, 6, otherPort, 1, 2)).isTrue();
        NetAddress other = NetAddress.ofIpv4(0x0A00_0002, 50_791);
        assertThat(cookies.isValid(cookie, 6, other, 1, 2)).isFalse();
        assertThat(cookies.isValid(cookie, 6, HERE, 3, 2)).isFalse();
        assertThat(cookies.isValid(cookie, 6, HERE, 1, 3)).isFalse();
        assertThat(cookies.isValid(cookie + 1, 6, HERE, 1, 2)).isFalse();
        assertThat(cookies.isValid(0, 6, HERE, 1, 2)).isFalse();
        assertThat(cookies(2).isValid(cookie, 6, HERE, 1, 2)).isFalse();
    }

    /**
     * MR-3.8-10: one to two periods, across the end of the clock, and not again after a long sleep.
     */
    @Test
    void aCookieGrowsOld() {
        for (long start : new long[] {0, Long.MAX_VALUE - 5, -Cookies.PERIOD_NS}) {
            for (long age : new long[] {1, Cookies.PERIOD_NS, 2 * Cookies.PERIOD_NS - 2}) {
                Cookies cookies = cookies(1);
                long cookie = cookies.of(start, HERE, 1, 2);
                assertThat(cookies.isValid(cookie, start + age, HERE, 1, 2)).isTrue();
            }
            for (long age : new long[] {2 * Cookies.PERIOD_NS, 100 * Cookies.PERIOD_NS}) {
                Cookies cookies = cookies(1);
                long cookie = cookies.of(start, HERE, 1, 2);
                assertThat(cookies.isValid(cookie, start + age, HERE, 1, 2)).isFalse();
            }
            Cookies busy = cookies(1);
            long cookie = busy.of(start, HERE, 1, 2);
            busy.of(start + Cookies.PERIOD_NS, HERE, 1, 2);
            busy.of(start + 2 * Cookies.PERIOD_NS, HERE, 1, 2);
            assertThat(busy.isValid(cookie, start + 2 * Cookies.PERIOD_NS, HERE, 1, 2)).isFalse();
        }
    }

    private byte[] forged(Rng rng) {
        RequestFields request = new RequestFields();
        request.nonce = rng.nextLong() >>> 2;
        request.endpointId = rng.nextLong();
        request.connectionId = rng.nextLong();
        request.serviceId = SERVICE;
        request.incarnation = rng.nextInt();
        request.srcCtx = rng.nextInt(65_536);
        request.mtu = 4096;
        request.profileMask = 3;
        request.maxPaths = 8;
        request.flags = RequestFields.FLAG_CONNECT;
        request.cookie = rng.chance(0.5) ? rng.nextLong() : 0;
        int length = ControlMessage.encodeRequest(memory, 0, 0, request);
        byte[] bytes = new byte[length];
        memory.bytes().get(0, bytes);
        return bytes;
    }

    /**
     * MR-3.8-9: 100,000 REQUESTs with forged sources. They fill half of the tables and no more, get
     * no byte more than they brought, and a genuine newcomer gets in while they go on.
     */
    @Test
    void aFloodOfForgedRequestsKeepsNobodyOut() {
        Peers peers = new Peers(4, DEFAULTS, 4, 4096, 4);
        Peers.Client old = peers.add(DEFAULTS);
        peers.expectOpen(SECOND);
        int[] counts = new int[3];
        peers.lab.addFault(
                packet -> {
                    if (packet.from == peers.server) {
                        counts[0]++;
                        counts[1] = Math.max(counts[1], packet.bytes.length);
                        counts[2] +=
                                RawPacket.is(packet.bytes, ControlOpcode.DENY)
                                                && packet.bytes[24] == DenyReason.COOKIE.code()
                                        ? 1
                                        : 0;
                    }
                    return 1;
                });
        Rng rng = peers.lab.rng("flood");
        DeviceState device = peers.server.engine.metaRoce().device();
        Peers.Client late = null;
        int connectionsAtHalf = 0;
        for (int i = 0; i < FLOOD; i++) {
            NetAddress source = NetAddress.ofIpv4(0x7000_0000 + rng.nextInt(1 << 24), 4_000);
            peers.lab.deliverNow(source, peers.server, forged(rng));
            if (i == FLOOD / 2) {
                connectionsAtHalf = device.connectionCount();
                late = peers.add(DEFAULTS);
                late.write(4096);
            }
            if (i % 10 == 0) {
                peers.lab.advance(MS);
            }
        }
        assertThat(counts[0]).isGreaterThanOrEqualTo(FLOOD);
        assertThat(counts[1]).isLessThanOrEqualTo(ControlMessage.REQUEST_BYTES);
        assertThat(counts[2]).isGreaterThan(FLOOD * 9 / 10);
        assertThat(connectionsAtHalf).isLessThanOrEqualTo(DEFAULTS.maxConnections() / 2 + 1);
        assertThat(device.connectionCount()).isLessThanOrEqualTo(connectionsAtHalf + 1);
        assertThat(late).isNotNull().matches(Peers.Client::isDone).matches(Peers.Client::isPlaced);

        old.write(64);
        peers.lab.expect("the old connection goes on", old::isDone, 10 * SECOND);
        assertThat(old.completions).hasSize(1);
    }

    /** The flood costs the target no memory once it asks for cookies. */
    @Test
    void aForgedRequestIsForgotten() {
        DeviceLimits few = DEFAULTS.toBuilder().maxConnections(8).build();
        Peers peers = new Peers(4, few, 1, 4096, 4);
        Rng rng = peers.lab.rng("flood");
        DeviceState device = peers.server.engine.metaRoce().device();
        List<byte[]> requests = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            requests.add(forged(rng));
            NetAddress source = NetAddress.ofIpv4(0x7000_0000 + i, 4_000);
            peers.lab.deliverNow(source, peers.server, requests.get(i));
        }
        assertThat(device.connectionCount()).isEqualTo(5);
        assertThat(peers.server.device.contextsInUse()).isEqualTo(5);
    }

    /** MR-3.4-12: the newcomer needs one round trip more, and gets its cookie back from itself. */
    @Test
    void aNewcomerAnswersWithItsCookieAtOnce() {
        DeviceLimits few = DEFAULTS.toBuilder().maxConnections(4).build();
        Peers peers = new Peers(4, few, 5, 4096, 4);
        peers.lab.latencyNs(100_000);
        peers.add(3, DEFAULTS);
        peers.expectOpen(SECOND);
        List<byte[]> requests = new ArrayList<>();
        List<byte[]> denials = new ArrayList<>();
        peers.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.REQUEST)) {
                        requests.add(packet.bytes);
                    }
                    if (RawPacket.is(packet.bytes, ControlOpcode.DENY)) {
                        denials.add(packet.bytes);
                    }
                    return 1;
                });
        long start = peers.lab.nowNs();
        peers.add(DEFAULTS);
        peers.expectOpen(SECOND);
        assertThat(peers.lab.nowNs() - start).isLessThan(500_000);
        assertThat(requests).hasSize(2);
        assertThat(denials).singleElement().matches(deny -> deny[24] == DenyReason.COOKIE.code());
        assertThat(Arrays.copyOfRange(requests.get(1), 72, 80))
                .isEqualTo(Arrays.copyOfRange(denials.get(0), 32, 40));

        // Connections that are known are never asked, whatever the load.
        requests.clear();
        denials.clear();
        peers.lab.advance(SECOND);
        peers.clients.forEach(client -> client.write(64));
        peers.expectDone(SECOND);
        assertThat(requests).hasSize(4);
        assertThat(denials).isEmpty();
    }

    /** A target that is never content makes nobody ask without a pause. */
    @Test
    void aTargetThatTakesNoCookieIsAskedSlowly() {
        DeviceLimits few = DEFAULTS.toBuilder().maxConnections(4).build();
        Peers peers = new Peers(4, few, 5, 4096, 4);
        peers.add(3, DEFAULTS);
        peers.expectOpen(SECOND);
        peers.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.REQUEST)) {
                        packet.bytes[72] ^= 1;
                        RawPacket.seal(packet.bytes);
                    }
                    return 1;
                });
        Peers.Client late = peers.add(DEFAULTS);
        peers.lab.advance(100 * MS);
        assertThat(late.node.count(CounterId.REQUESTS_SENT)).isBetween(50L, 102L);
        peers.lab.advance(DEFAULTS.giveUpNs());
        assertThat(late.connection.failure()).contains("COOKIE");
    }
}
