package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.SamplePackets.Sample;

import org.junit.jupiter.api.Test;

class PacketViewTest {
    private static final String LINES =
            """
            PROBE cid 167/44 path 3 psn 4294967294
            DATA WRITE cid 7/9 path 2 psn 270544960 stream 258 msn 7 bytes 0+3/3 \
            va 0x7f0012345678 rkey 0xc0ffee ACK_REQ LAST MORE
            DATA WRITE_IMM cid 7/9 path 2 psn 270544961 stream 258 msn 8 bytes \
            1408+4/4096 slot 5 attempt 2 va 0x7f0012345678 rkey 0xc0ffee recv 42 \
            RETX
            DATA WRITE_IMM cid 7/9 path 2 psn 270544962 stream 258 msn 8 bytes \
            4092+4/4096 slot 5 attempt 2 va 0x7f0012345678 rkey 0xc0ffee recv 42 \
            imm 0x1020304 LAST IMM
            DATA SEND cid 255/0 path 7 psn 0 stream 65535 msn 4294967295 bytes \
            0+1/1 attempt 255 recv 2147483649 ACK_REQ LAST
            DATA SEND_IMM cid 0/1 path 0 psn 2147483647 stream 0 msn 0 bytes \
            0+0/0 recv 0 imm 0xfedcba98 ACK_REQ LAST IMM FENCE
            DATA WRITE cid 7/9 path 2 psn 270544963 stream 258 msn 9 bytes \
            4294967294+1/4294967295 slot 32768 va 0xffffffff00000000 rkey \
            0x80000000 LAST
            DATA SEND_INV cid 7/9 path 2 psn 270544965 stream 258 msn 10 bytes \
            0+2/2 recv 43 invalidates 0xc0ffee LAST
            DATA READ_REQ cid 7/9 path 2 psn 270544966 stream 258 msn 11 bytes \
            1408+1408/4096 slot 5 va 0x7f0012345678 rkey 0xc0ffee RETX
            DATA CMP_SWAP cid 7/9 path 2 psn 270544967 stream 258 msn 12 slot 6 \
            va 0x7f0012345678 rkey 0xc0ffee compare 0x2122232425262728 swap \
            0x1112131415161718 LAST
            DATA FETCH_ADD cid 7/9 path 2 psn 270544968 stream 258 msn 13 slot 0 \
            va 0x7f0012345678 rkey 0xc0ffee add 0xffffffffffffffff ACK_REQ LAST
            DATA READ_DATA src 48879 cid 7/9 path 2 psn 270544966 stream 258 \
            msn 11 bytes 1408+3 delay 1024ns
            DATA ATOMIC_REPLY src 48879 cid 255/254 path 2 psn 270544967 stream \
            258 msn 12 bytes 0+8 delay 4194240ns
            DATA SKIP cid 7/9 path 2 psn 270544964 ACK_REQ
            ACK src 48879 cid 7/9 rx 65536 hint 400000Mb/s #42 window 1024KiB \
            load 128 [path 0 cum 270544965 ce 0 delay 1024ns PROBE_REPLY, path 5 \
            cum 4294967280 ce 3 delay 4194240ns CE sack +1,+192,+194,+225]
            ACK src 48879 cid 255/254 rx 4294967295 hint none #255 window none \
            load 255 []
            NAK RECEIVER_NOT_READY src 48879 cid 7/9 path 2 psn 270544966 stream \
            258 msn 7 recv 42 retry 1000us
            CTRL REQUEST ctx 0x0 nonce 0x102030405060708 endpoint \
            0x1112131415161718 connection 0x2122232425262728 service \
            0x3132333435363738 src 48879 mtu 1408 profiles 0x3 paths 8 versions \
            0x2 demand 1048576KiB priority 5 flags 0xc0 private 3
            CTRL GRANT ctx 0xbeef nonce 0x102030405060708 cid 7/9 profile M paths \
            8 psn 4294967280 mtu 1408 window 256KiB quota 1024KiB/1000us idle \
            10000us hint 400000Mb/s #1 open 32 reads 16 connection \
            0x2122232425262728 private 2
            CTRL QUEUED ctx 0xbeef nonce 0x102030405060708 position 12 wait \
            120000us
            CTRL DENY ctx 0xbeef nonce 0x102030405060708 COOKIE versions 0x2 \
            retry 2000us cookie 0x4142434445464748 private 0
            CTRL DENY ctx 0xbeef nonce 0x102030405060708 SERVICE versions 0x2 \
            retry 0us cookie 0x0 private 15
            CTRL RELEASE ctx 0x709 nonce 0x102030405060708 endpoint \
            0x1112131415161718 src 4660 final 1 4294967295 270544967
            CTRL RELEASE_ACK ctx 0xbeef nonce 0x102030405060708 cid 7/9
            CTRL RECLAIM ctx 0xbeef nonce 0x102030405060708 cid 7/9 QUOTA \
            deadline 5000us
            CTRL KEEPALIVE ctx 0xbeef nonce 0x102030405060708 cid 7/9
            CTRL KEEPALIVE_ACK ctx 0x709 nonce 0x102030405060708 endpoint \
            0x1112131415161718
            CTRL RESET ctx 0x0 nonce 0x210203047 cid 7/9 EPOCH incarnation 0xb1b2b3b4
            CTRL DISCONNECT ctx 0x3031 nonce 0x102030405060708 endpoint \
            0x1112131415161718 \
            connection 0x2122232425262728 from dialer
            CTRL DISCONNECT_ACK ctx 0x3031 nonce 0x102030405060708 ended
            """;

    @Test
    void everySamplePrintsAsOneReadableLine() {
        StringBuilder text = new StringBuilder();
        for (Sample sample : SamplePackets.all()) {
            text.append(parse(sample.bytes())).append('\n');
        }
        assertThat(text.toString()).isEqualTo(LINES);
    }

    @Test
    void runsInASackPrintAsRanges() {
        byte[] bytes = SamplePackets.ACK.bytes();
        bytes[bytes.length - 4 - 32 + 7] = 0x1E;

        assertThat(parse(PacketBytes.resealed(bytes)).toString())
                .contains("sack +2..5,+192,+194,+225]");
    }

    @Test
    void whatTheDoorRefusesPrintsItsVerdict() {
        byte[] bytes = SamplePackets.WRITE.bytes();
        bytes[30] ^= 1;

        assertThat(parse(bytes)).hasToString("REFUSED BAD_CRC 55 bytes");
        assertThat(parse(new byte[3])).hasToString("REFUSED TOO_SHORT 3 bytes");
    }

    private static PacketView parse(byte[] bytes) {
        return PacketView.parse(PacketBytes.exactly(bytes), 0, bytes.length);
    }
}
