package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

class PeerPlanesTest {
    private static final NetAddress[] THEIRS = {address(1), address(2), address(3)};

    private static NetAddress address(int host) {
        return NetAddress.ofIpv4(0x0A00_0000 + host, 50_791);
    }

    private static PeerPlanes planes(NetAddress known, int own) {
        PeerPlanes planes = PeerPlanes.of(known, THEIRS, own);
        assertThat(planes).isNotNull();
        return planes;
    }

    // MR-3.10-4
    @Test
    void theEndWithFewerAddressesUsesThemInTurn() {
        PeerPlanes planes = planes(address(2).onPlane(1), 2);

        assertThat(planes.count()).isEqualTo(3);
        assertThat(planes.at(0)).isEqualTo(address(1));
        assertThat(planes.at(1)).isEqualTo(address(2).onPlane(1));
        assertThat(planes.at(2)).isEqualTo(address(3));
    }

    @Test
    void aConnectionMadeCrosswiseStaysCrosswise() {
        PeerPlanes planes = planes(address(1).onPlane(2), 3);

        assertThat(planes.at(0)).isEqualTo(address(1).onPlane(2));
        assertThat(planes.at(1)).isEqualTo(address(2));
        assertThat(planes.at(2)).isEqualTo(address(3).onPlane(1));
        assertThat(planes.address(0)).isEqualTo(address(1).onPlane(2));
    }

    // MR-3.10-3
    @Test
    void aListWithoutTheAddressThatIsKnownDoesNotCount() {
        assertThat(PeerPlanes.of(address(9), THEIRS, 1)).isNull();

        PeerPlanes own = planes(address(9), 2);
        assertThat(own.count()).isEqualTo(2);
        assertThat(own.at(1)).isEqualTo(address(9).onPlane(1));
        assertThat(own.has(address(1))).isFalse();
    }

    @Test
    void oneAddressAtBothEndsIsNoPlane() {
        assertThat(PeerPlanes.of(address(1), new NetAddress[0], 1)).isNull();
    }

    // MR-3.10-5
    @Test
    void onlyWhereThePeerWasHeardIsProved() {
        PeerPlanes planes = planes(address(1), 3);
        assertThat(planes.isProved(0)).isTrue();
        assertThat(planes.isProved(1)).isFalse();

        planes.hear(address(2).onPlane(1));
        planes.hear(address(7));
        assertThat(planes.isProved(1)).isTrue();
        assertThat(planes.isProved(2)).isFalse();

        planes.leave(1);
        assertThat(planes.isProved(1)).isFalse();
    }

    // MR-3.10-6
    // MR-3.10-7
    @Test
    void answersFollowThePathsAndQuestionsGoRound() {
        PeerPlanes planes = planes(address(1), 3);
        planes.hear(4, address(3).onPlane(2));

        assertThat(planes.of(4)).isEqualTo(address(3).onPlane(2));
        assertThat(planes.of(5)).isEqualTo(address(1));
        assertThat(planes.address(0)).isEqualTo(address(3).onPlane(2));
        assertThat(planes.address(1)).isEqualTo(address(1));
        assertThat(planes.address(2)).isEqualTo(address(2).onPlane(1));
    }
}
