package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.SamplePackets.Sample;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** CTRL: our encoder gives the hand-written bytes, our readers take them. */
class GoldenControlTest {
    private static final int AT = PacketBytes.AT;
    private static final int SRC_CTX = 0xBEEF;
    private static final int TOKEN = 0x0709;
    private static final long NONCE = 0x0102_0304_0506_0708L;
    private static final long PROOF = 0x2_1020_3047L;
    private static final long ENDPOINT = 0x1112_1314_1516_1718L;
    private static final long CONNECTION = 0x2122_2324_2526_2728L;
    private static final long COOKIE = 0x4142_4344_4546_4748L;

    private final PacketMemory memory = PacketBytes.canaries();

    @Test
    void request() {
        RequestFields fields = new RequestFields();
        fields.nonce = NONCE;
        fields.endpointId = ENDPOINT;
        fields.connectionId = CONNECTION;
        fields.serviceId = 0x3132_3334_3536_3738L;
        fields.incarnation = 0xA1A2_A3A4;
        fields.srcCtx = SRC_CTX;
        fields.mtu = 1408;
        fields.profileMask = Profile.S.code() | Profile.M.code();
        fields.maxPaths = 8;
        fields.versionMask = 1 << CommonHeader.VERSION;
        fields.demandKib = 1 << 20;
        fields.priority = 5;
        fields.flags = RequestFields.FLAG_CONNECT | RequestFields.FLAG_ACCEPTOR;
        fields.cookie = COOKIE;
        setPrivate(fields.privateData, "abc");
        fields.privateLength = 3;
        int bytes = ControlMessage.encodeRequest(memory, AT, 0xCAFE_0003, fields);
        assertGolden(SamplePackets.REQUEST, bytes, ControlOpcode.REQUEST, 0);

        RequestFields read = new RequestFields();
        read.read(memory, AT);
        assertThat(read).usingRecursiveComparison().ignoringFields("privateData").isEqualTo(fields);
        assertThat(privateText(read.privateData, read.privateLength)).isEqualTo("abc");
    }

    @Test
    void grant() {
        GrantFields fields = new GrantFields();
        fields.srcCtx = SRC_CTX;
        fields.nonce = NONCE;
        fields.endpointId = 0x5152_5354_5556_5758L;
        fields.incarnation = 0xB1B2_B3B4;
        fields.initialPsn = -16;
        fields.cid = 7;
        fields.epoch = 9;
        fields.profile = Profile.M.code();
        fields.paths = 8;
        fields.mtu = 1408;
        fields.windowKib = 256;
        fields.quotaKib = 1024;
        fields.quotaTimeUs = 1_000;
        fields.idleTimeUs = 10_000;
        fields.rateHint = 400_000;
        fields.hintSeq = 1;
        fields.openMessages = 32;
        fields.maxReads = 16;
        fields.connectionId = CONNECTION;
        setPrivate(fields.privateData, "xy");
        fields.privateLength = 2;
        int bytes = ControlMessage.encodeGrant(memory, AT, 0xCAFE_0004, fields);
        assertGolden(SamplePackets.GRANT, bytes, ControlOpcode.GRANT, SRC_CTX);

        GrantFields read = new GrantFields();
        read.read(memory, AT);
        assertThat(read).usingRecursiveComparison().ignoringFields("privateData").isEqualTo(fields);
        assertThat(privateText(read.privateData, read.privateLength)).isEqualTo("xy");
    }

    @Test
    void queued() {
        int bytes =
                ControlMessage.encodeQueued(memory, AT, 0xCAFE_0005, SRC_CTX, NONCE, 12, 120_000);
        assertGolden(SamplePackets.QUEUED, bytes, ControlOpcode.QUEUED, SRC_CTX);

        assertThat(ControlMessage.nonce(memory, AT)).isEqualTo(NONCE);
        assertThat(ControlMessage.queuedPosition(memory, AT)).isEqualTo(12);
        assertThat(ControlMessage.queuedWaitUs(memory, AT)).isEqualTo(120_000);
    }

    @Test
    void deny() {
        int bytes =
                ControlMessage.encodeDeny(
                        memory,
                        AT,
                        0xCAFE_0006,
                        SRC_CTX,
                        NONCE,
                        DenyReason.COOKIE,
                        false,
                        2,
                        2_000,
                        COOKIE,
                        new byte[0]);
        assertGolden(SamplePackets.DENY, bytes, ControlOpcode.DENY, SRC_CTX);

        assertThat(ControlMessage.denyReason(memory, AT)).isEqualTo(DenyReason.COOKIE.code());
        assertThat(ControlMessage.denyEarlyDone(memory, AT)).isFalse();
        assertThat(ControlMessage.denyVersionMask(memory, AT)).isEqualTo(2);
        assertThat(ControlMessage.denyRetryAfterUs(memory, AT)).isEqualTo(2_000);
        assertThat(ControlMessage.denyCookie(memory, AT)).isEqualTo(COOKIE);
    }

    // MR-3.9-1
    @Test
    void denyWithPrivateData() {
        byte[] why = "not before noon".getBytes(StandardCharsets.US_ASCII);
        int bytes =
                ControlMessage.encodeDeny(
                        memory,
                        AT,
                        0xCAFE_0006,
                        SRC_CTX,
                        NONCE,
                        DenyReason.SERVICE,
                        false,
                        2,
                        0,
                        0,
                        why);
        assertGolden(SamplePackets.DENY_SERVICE, bytes, ControlOpcode.DENY, SRC_CTX);

        assertThat(ControlMessage.denyPrivateData(memory, AT)).isEqualTo(why);
        assertThat(ControlMessage.denyBytes(ControlMessage.MAX_PRIVATE_BYTES))
                .as("no longer than the question")
                .isEqualTo(108)
                .isLessThan(ControlMessage.bytes(ControlOpcode.REQUEST));
    }

    /** MR-2.6-2. */
    @Test
    void release() {
        int[] finalPsn = {1, -1, 0x1020_3047, 99};
        int bytes =
                ControlMessage.encodeRelease(
                        memory, AT, 0xCAFE_0007, TOKEN, NONCE, ENDPOINT, 0x1234, finalPsn, 3);
        assertGolden(SamplePackets.RELEASE, bytes, ControlOpcode.RELEASE, TOKEN);

        assertThat(ControlMessage.releaseEndpointId(memory, AT)).isEqualTo(ENDPOINT);
        assertThat(ControlMessage.releaseSrcCtx(memory, AT)).isEqualTo(0x1234);
        assertThat(ControlMessage.releasePathCount(memory, AT)).isEqualTo(3);
        for (int path = 0; path < 3; path++) {
            assertThat(ControlMessage.releaseFinalPsn(memory, AT, path)).isEqualTo(finalPsn[path]);
        }
    }

    @Test
    void releaseAck() {
        int bytes = ControlMessage.encodeReleaseAck(memory, AT, 0xCAFE_0008, SRC_CTX, NONCE, 7, 9);
        assertGolden(SamplePackets.RELEASE_ACK, bytes, ControlOpcode.RELEASE_ACK, SRC_CTX);
        assertLease();
    }

    @Test
    void reclaim() {
        int bytes =
                ControlMessage.encodeReclaim(
                        memory, AT, 0xCAFE_0009, SRC_CTX, NONCE, 7, 9, ReclaimReason.QUOTA, 5_000);
        assertGolden(SamplePackets.RECLAIM, bytes, ControlOpcode.RECLAIM, SRC_CTX);
        assertLease();
        assertThat(ControlMessage.reclaimReason(memory, AT)).isEqualTo(ReclaimReason.QUOTA.code());
        assertThat(ControlMessage.reclaimDeadlineUs(memory, AT)).isEqualTo(5_000);
    }

    @Test
    void keepalive() {
        int bytes = ControlMessage.encodeKeepalive(memory, AT, 0xCAFE_000A, SRC_CTX, NONCE, 7, 9);
        assertGolden(SamplePackets.KEEPALIVE, bytes, ControlOpcode.KEEPALIVE, SRC_CTX);
        assertLease();
    }

    @Test
    void keepaliveAck() {
        int bytes =
                ControlMessage.encodeKeepaliveAck(memory, AT, 0xCAFE_000B, TOKEN, NONCE, ENDPOINT);
        assertGolden(SamplePackets.KEEPALIVE_ACK, bytes, ControlOpcode.KEEPALIVE_ACK, TOKEN);
        assertThat(ControlMessage.keepaliveAckEndpointId(memory, AT)).isEqualTo(ENDPOINT);
    }

    /** MR-2.6-8. */
    @Test
    void reset() {
        int bytes =
                ControlMessage.encodeReset(
                        memory, AT, 0xCAFE_000C, PROOF, ResetReason.EPOCH, 7, 9, 0xB1B2_B3B4);
        assertGolden(SamplePackets.RESET, bytes, ControlOpcode.RESET, 0);

        assertThat(ControlMessage.nonce(memory, AT)).isEqualTo(PROOF);
        assertThat(ControlMessage.resetReason(memory, AT)).isEqualTo(ResetReason.EPOCH.code());
        assertThat(ControlMessage.resetCid(memory, AT)).isEqualTo(7);
        assertThat(ControlMessage.resetEpoch(memory, AT)).isEqualTo(9);
        assertThat(ControlMessage.resetIncarnation(memory, AT)).isEqualTo(0xB1B2_B3B4);
    }

    /** MR-2.2-7. */
    @Test
    void disconnect() {
        int bytes =
                ControlMessage.encodeDisconnect(
                        memory, AT, 0xCAFE_000D, 0x3031, NONCE, ENDPOINT, CONNECTION, true);
        assertGolden(SamplePackets.DISCONNECT, bytes, ControlOpcode.DISCONNECT, 0x3031);

        assertThat(ControlMessage.disconnectEndpointId(memory, AT)).isEqualTo(ENDPOINT);
        assertThat(ControlMessage.disconnectConnectionId(memory, AT)).isEqualTo(CONNECTION);
        assertThat(ControlMessage.disconnectFromDialer(memory, AT)).isTrue();
    }

    @Test
    void disconnectAck() {
        int bytes = ControlMessage.encodeDisconnectAck(memory, AT, 0xCAFE_000E, 0x3031, NONCE);
        assertGolden(SamplePackets.DISCONNECT_ACK, bytes, ControlOpcode.DISCONNECT_ACK, 0x3031);
    }

    @Test
    void earlyDoneIsTheFirstFlagOfGrantAndDeny() {
        DenyReason reason = DenyReason.FINISHED;
        ControlMessage.encodeDeny(
                memory, AT, 0, SRC_CTX, NONCE, reason, true, 2, 0, 0, new byte[0]);
        assertThat(ControlMessage.denyReason(memory, AT)).isEqualTo(reason.code());
        assertThat(ControlMessage.denyEarlyDone(memory, AT)).isTrue();
        assertThat(memory.u16(AT + 24)).isEqualTo(0x0780);
        assertThat(ControlMessage.denyPrivateLength(memory, AT)).isZero();

        GrantFields fields = new GrantFields();
        fields.flags = GrantFields.FLAG_EARLY_DONE;
        fields.poolLoad = 254;
        ControlMessage.encodeGrant(memory, AT, 0, fields);
        assertThat(memory.u16(AT + 70)).isEqualTo(0x80FE);
        GrantFields read = new GrantFields();
        read.read(memory, AT);
        assertThat(read.flags).isEqualTo(0x80);
        assertThat(read.poolLoad).isEqualTo(254);
    }

    private void assertLease() {
        assertThat(ControlMessage.nonce(memory, AT)).isEqualTo(NONCE);
        assertThat(ControlMessage.leaseCid(memory, AT)).isEqualTo(7);
        assertThat(ControlMessage.leaseEpoch(memory, AT)).isEqualTo(9);
    }

    private void assertGolden(Sample golden, int bytes, ControlOpcode opcode, int ctx) {
        assertThat(PacketBytes.encoded(memory, bytes)).isEqualTo(golden.bytes());
        if (opcode != ControlOpcode.RELEASE && golden != SamplePackets.DENY_SERVICE) {
            assertThat(ControlMessage.bytes(opcode)).isEqualTo(bytes);
        }
        assertThat(PacketDoor.check(memory, AT, bytes)).isEqualTo(DoorVerdict.OK);
        assertThat(CommonHeader.type(memory, AT)).isEqualTo(PacketType.CTRL.code());
        assertThat(CommonHeader.opcode(memory, AT)).isEqualTo(opcode.code());
        assertThat(CommonHeader.ctx(memory, AT)).isEqualTo(ctx);
    }

    /** Bytes past the text are set too: they must not reach the wire. */
    private static void setPrivate(byte[] data, String text) {
        Arrays.fill(data, (byte) 0x7F);
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, data, 0, bytes.length);
    }

    private static String privateText(byte[] data, int length) {
        return new String(data, 0, length, StandardCharsets.US_ASCII);
    }
}
