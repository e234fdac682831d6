package dev.metaroce.wire;

import java.util.HexFormat;
import java.util.List;

/**
 * One or more valid packets of every type and opcode, written down by hand from the specification
 * and not by our encoder. Checksums come from a bitwise CRC-32C outside this project's code.
 */
public final class SamplePackets {
    /**
     * A packet.
     *
     * @param name what it is
     * @param hex its bytes
     */
    public record Sample(String name, String hex) {
        public byte[] bytes() {
            return HexFormat.of().parseHex(hex);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** 20 bytes. */
    static final Sample PROBE =
            sample(
                    "PROBE",
                    // common: ACK_REQ, cid 0xa7 epoch 0x2c, path 3, psn 2^32-2
                    "15 80 a72c 03 00 0000 fffffffe 01020304",
                    // checksum
                    "e2734751");

    /** 55 bytes. */
    static final Sample WRITE =
            sample(
                    "WRITE",
                    // common: ACK_REQ LAST MORE, cid 7 epoch 9, path 2, stream 0x102
                    "11 c4 0709 02 01 0102 10203040 cafebabe",
                    // MSGETH: msn 7, offset 0, length 3, no slot
                    "00000007 00000000 00000003 ffff 00 00",
                    // RETH
                    "00007f0012345678 00c0ffee 00000000",
                    // payload
                    "aabbcc",
                    // checksum
                    "e8d51f4d");

    /** 56 bytes. */
    static final Sample WRITE_IMM_MIDDLE =
            sample(
                    "WRITE_IMM middle",
                    // common: RETX
                    "11 20 0709 02 02 0102 10203041 cafebabf",
                    // MSGETH: msn 8, offset 1408, length 4096, slot 5, attempt 2
                    "00000008 00000580 00001000 0005 02 00",
                    // RETH with receive 42
                    "00007f0012345678 00c0ffee 0000002a",
                    // payload
                    "deadbeef",
                    // checksum
                    "06899cef");

    /** 60 bytes. */
    static final Sample WRITE_IMM_LAST =
            sample(
                    "WRITE_IMM last",
                    // common: LAST IMM
                    "11 50 0709 02 02 0102 10203042 cafebac0",
                    // MSGETH: offset 4092
                    "00000008 00000ffc 00001000 0005 02 00",
                    // RETH
                    "00007f0012345678 00c0ffee 0000002a",
                    // immediate
                    "01020304",
                    // payload
                    "deadbeef",
                    // checksum
                    "38ef12f3");

    /** 41 bytes. */
    static final Sample SEND =
            sample(
                    "SEND",
                    // common: ACK_REQ LAST, cid 255 epoch 0, stream 65535
                    "11 c0 ff00 07 03 ffff 00000000 00000000",
                    // MSGETH: msn 2^32-1, length 1, attempt 255
                    "ffffffff 00000000 00000001 ffff ff 00",
                    // RQETH
                    "80000001",
                    // payload
                    "5a",
                    // checksum
                    "c4aa2def");

    /** 44 bytes. */
    static final Sample SEND_IMM_EMPTY =
            sample(
                    "SEND_IMM empty",
                    // common: ACK_REQ LAST IMM FENCE
                    "11 d8 0001 00 04 0000 7fffffff ffffffff",
                    // MSGETH: all 0, no slot
                    "00000000 00000000 00000000 ffff 00 00",
                    // RQETH
                    "00000000",
                    // immediate
                    "fedcba98",
                    // checksum
                    "351fa32e");

    /** 53 bytes. */
    static final Sample WRITE_LARGEST =
            sample(
                    "WRITE largest",
                    // common: LAST
                    "11 40 0709 02 01 0102 10203043 cafebac1",
                    // MSGETH: offset 2^32-2, length 2^32-1, slot 0x8000
                    "00000009 fffffffe ffffffff 8000 00 00",
                    // RETH: addresses and keys above the sign bit
                    "ffffffff00000000 80000000 00000000",
                    // payload
                    "77",
                    // checksum
                    "ebea4b6c");

    /** 20 bytes. */
    static final Sample SKIP =
            sample(
                    "SKIP",
                    // common: ACK_REQ
                    "11 80 0709 02 0f 0000 10203044 cafebac2",
                    // checksum
                    "3e788fbd");

    /** 100 bytes. */
    static final Sample ACK =
            sample(
                    "ACK",
                    // common: source context 0xbeef
                    "12 00 beef 00 00 0000 00000000 cafe0000",
                    // lease: 65536 units, 400000 Mb/s #42, 1024 KiB, load 128, 2 records, cid 7/9
                    "00010000 061a80 2a 0400 80 02 07 09 0000",
                    // record: path 0, PROBE_REPLY, delay 16
                    "00 20 0010 10203045 cafebac2 00000000",
                    // record: path 5, SACK CE, delay saturated
                    "05 c0 ffff fffffff0 cafebac3 00000003",
                    // SACK: bits 0, 191, 193, 224
                    "0000000000000001 0000000000000000 8000000000000000 0000000100000002",
                    // checksum
                    "eb29e246");

    /** 36 bytes. */
    static final Sample ACK_BARE =
            sample(
                    "ACK bare",
                    // common
                    "12 00 beef 00 00 0000 00000000 cafe0001",
                    // lease: all at their limits, no record
                    "ffffffff ffffff ff ffff ff 00 ff fe 0000",
                    // checksum
                    "a5a9e99b");

    /** 36 bytes. */
    static final Sample NAK =
            sample(
                    "NAK",
                    // common: RECEIVER_NOT_READY, path 2, stream 0x102
                    "13 00 beef 02 05 0102 10203046 cafe0002",
                    // msn 7, receive 42, 1000 us, cid 7/9
                    "00000007 0000002a 000003e8 07 09 0000",
                    // checksum
                    "c9197753");

    /** 196 bytes. */
    static final Sample REQUEST =
            sample(
                    "REQUEST",
                    // common
                    "14 00 0000 00 01 0000 00000000 cafe0003",
                    // nonce
                    "0102030405060708",
                    // endpoint id
                    "1112131415161718",
                    // connection id
                    "2122232425262728",
                    // service id
                    "3132333435363738",
                    // incarnation
                    "a1a2a3a4",
                    // source context, mtu 1408
                    "beef 0580",
                    // profiles S and M, 8 paths, version 1
                    "03 08 0002",
                    // demand 1 GiB
                    "00100000",
                    // priority 5, CONNECT ACCEPTOR, 3 private bytes
                    "05 c0 0003",
                    // reserved
                    "00000000",
                    // cookie
                    "4142434445464748",
                    // private data
                    "616263" + "00".repeat(61),
                    // padding
                    "00".repeat(48),
                    // checksum
                    "6cbd250f");

    /** 148 bytes. */
    static final Sample GRANT =
            sample(
                    "GRANT",
                    // common
                    "14 00 beef 00 02 0000 00000000 cafe0004",
                    // nonce
                    "0102030405060708",
                    // endpoint id
                    "5152535455565758",
                    // incarnation
                    "b1b2b3b4",
                    // initial psn
                    "fffffff0",
                    // cid 7 epoch 9, profile M, 8 paths
                    "07 09 02 08",
                    // mtu 1408, window 256 KiB
                    "0580 0100",
                    // quota 1 MiB
                    "00000400",
                    // quota time 1 ms
                    "000003e8",
                    // idle time 10 ms
                    "00002710",
                    // 400000 Mb/s #1
                    "061a80 01",
                    // 32 open messages, 2 private bytes
                    "0020 0002",
                    // 16 reads
                    "0010 0000",
                    // connection id
                    "2122232425262728",
                    // private data
                    "7879" + "00".repeat(62),
                    // checksum
                    "838156dc");

    /** 36 bytes. */
    static final Sample QUEUED =
            sample(
                    "QUEUED",
                    // common
                    "14 00 beef 00 03 0000 00000000 cafe0005",
                    // nonce
                    "0102030405060708",
                    // position 12
                    "0000000c",
                    // 120 ms
                    "0001d4c0",
                    // checksum
                    "6820f04b");

    /** 44 bytes. */
    static final Sample DENY =
            sample(
                    "DENY",
                    // common
                    "14 00 beef 00 04 0000 00000000 cafe0006",
                    // nonce
                    "0102030405060708",
                    // COOKIE, version 1
                    "09 00 0002",
                    // 2 ms
                    "000007d0",
                    // cookie
                    "4142434445464748",
                    // checksum
                    "b1b53241");

    /** 59 bytes. */
    static final Sample DENY_SERVICE =
            sample(
                    "DENY_SERVICE",
                    // common
                    "14 00 beef 00 04 0000 00000000 cafe0006",
                    // nonce
                    "0102030405060708",
                    // SERVICE, 15 bytes of private data, version 1
                    "05 0f 0002",
                    // no retry
                    "00000000",
                    // no cookie
                    "0000000000000000",
                    // "not before noon"
                    "6e6f74206265666f7265206e6f6f6e",
                    // checksum
                    "ca789dac");

    /** 52 bytes. */
    static final Sample RELEASE =
            sample(
                    "RELEASE",
                    // common: token
                    "14 00 0709 00 05 0000 00000000 cafe0007",
                    // nonce
                    "0102030405060708",
                    // endpoint id
                    "1112131415161718",
                    // reserved, 3 paths, source context
                    "00 03 1234",
                    // final psns
                    "00000001 ffffffff 10203047",
                    // checksum
                    "2e306307");

    /** 32 bytes. */
    static final Sample RELEASE_ACK =
            sample(
                    "RELEASE_ACK",
                    // common
                    "14 00 beef 00 06 0000 00000000 cafe0008",
                    // nonce
                    "0102030405060708",
                    // cid 7/9
                    "07 09 0000",
                    // checksum
                    "87a104ea");

    /** 36 bytes. */
    static final Sample RECLAIM =
            sample(
                    "RECLAIM",
                    // common
                    "14 00 beef 00 07 0000 00000000 cafe0009",
                    // nonce
                    "0102030405060708",
                    // cid 7/9, QUOTA
                    "07 09 01 00",
                    // 5 ms
                    "00001388",
                    // checksum
                    "9d88ecbf");

    /** 32 bytes. */
    static final Sample KEEPALIVE =
            sample(
                    "KEEPALIVE",
                    // common
                    "14 00 beef 00 08 0000 00000000 cafe000a",
                    // nonce
                    "0102030405060708",
                    // cid 7/9
                    "07 09 0000",
                    // checksum
                    "7faa3892");

    /** 36 bytes. */
    static final Sample KEEPALIVE_ACK =
            sample(
                    "KEEPALIVE_ACK",
                    // common: token
                    "14 00 0709 00 09 0000 00000000 cafe000b",
                    // nonce
                    "0102030405060708",
                    // endpoint id
                    "1112131415161718",
                    // checksum
                    "751a022b");

    /** 36 bytes. */
    static final Sample RESET =
            sample(
                    "RESET",
                    // common
                    "14 00 0000 00 0a 0000 00000000 cafe000c",
                    // proof: path 2, PSN
                    "00000002 10203047",
                    // EPOCH, cid 7/9
                    "02 00 07 09",
                    // incarnation
                    "b1b2b3b4",
                    // checksum
                    "e73e0665");

    /** 48 bytes. */
    static final Sample DISCONNECT =
            sample(
                    "DISCONNECT",
                    // common: source context
                    "14 00 3031 00 0b 0000 00000000 cafe000d",
                    // nonce
                    "0102030405060708",
                    // endpoint id
                    "1112131415161718",
                    // connection id
                    "2122232425262728",
                    // from the dialer
                    "01 00 0000",
                    // checksum
                    "b126c051");

    /** 28 bytes. */
    static final Sample DISCONNECT_ACK =
            sample(
                    "DISCONNECT_ACK",
                    // common: source context
                    "14 00 3031 00 0c 0000 00000000 cafe000e",
                    // nonce
                    "0102030405060708",
                    // checksum
                    "7d6adb28");

    /** 46 bytes. */
    static final Sample SEND_INV =
            sample(
                    "SEND_INV",
                    // common: LAST
                    "11 40 0709 02 05 0102 10203045 cafebac3",
                    // MSGETH: msn 10, length 2, no slot
                    "0000000a 00000000 00000002 ffff 00 00",
                    // RQETH with receive 43, key to invalidate
                    "0000002b 00c0ffee",
                    // payload
                    "a1a2",
                    // checksum
                    "fbf7b89e");

    /** 56 bytes. */
    static final Sample READ_REQ_MIDDLE =
            sample(
                    "READ_REQ middle",
                    // common: RETX
                    "11 20 0709 02 08 0102 10203046 cafebac4",
                    // MSGETH: msn 11, offset 1408, length 4096, slot 5
                    "0000000b 00000580 00001000 0005 00 00",
                    // RETH
                    "00007f0012345678 00c0ffee 00000000",
                    // 1408 bytes wanted
                    "00000580",
                    // checksum
                    "f8601ec4");

    /** 64 bytes. */
    static final Sample CMP_SWAP =
            sample(
                    "CMP_SWAP",
                    // common: LAST
                    "11 40 0709 02 0a 0102 10203047 cafebac5",
                    // MSGETH: msn 12, length 8, slot 6
                    "0000000c 00000000 00000008 0006 00 00",
                    // AtomicETH: va, key, swap, compare
                    "00007f0012345678 00c0ffee 1112131415161718 2122232425262728",
                    // checksum
                    "44b1d673");

    /** 64 bytes. */
    static final Sample FETCH_ADD =
            sample(
                    "FETCH_ADD",
                    // common: ACK_REQ LAST
                    "11 c0 0709 02 0b 0102 10203048 cafebac6",
                    // MSGETH: msn 13, length 8, slot 0
                    "0000000d 00000000 00000008 0000 00 00",
                    // AtomicETH: va, key, add -1, no compare
                    "00007f0012345678 00c0ffee ffffffffffffffff 0000000000000000",
                    // checksum
                    "160ce21d");

    /** 39 bytes. */
    static final Sample READ_DATA =
            sample(
                    "READ_DATA",
                    // common: to source context 0xbeef
                    "11 00 beef 02 09 0102 10203046 cafe0010",
                    // RPLETH: msn 11, offset 1408, echo, delay 16, cid 7 epoch 9
                    "0000000b 00000580 cafebac4 0010 07 09",
                    // payload
                    "b1b2b3",
                    // checksum
                    "ee292938");

    /** 44 bytes. */
    static final Sample ATOMIC_REPLY =
            sample(
                    "ATOMIC_REPLY",
                    // common: to source context 0xbeef
                    "11 00 beef 02 0c 0102 10203047 cafe0011",
                    // RPLETH: msn 12, offset 0, echo, longest delay, cid 255 epoch 254
                    "0000000c 00000000 cafebac5 ffff ff fe",
                    // old value
                    "3132333435363738",
                    // checksum
                    "87b1aedd");

    private static final List<Sample> ALL =
            List.of(
                    PROBE,
                    WRITE,
                    WRITE_IMM_MIDDLE,
                    WRITE_IMM_LAST,
                    SEND,
                    SEND_IMM_EMPTY,
                    WRITE_LARGEST,
                    SEND_INV,
                    READ_REQ_MIDDLE,
                    CMP_SWAP,
                    FETCH_ADD,
                    READ_DATA,
                    ATOMIC_REPLY,
                    SKIP,
                    ACK,
                    ACK_BARE,
                    NAK,
                    REQUEST,
                    GRANT,
                    QUEUED,
                    DENY,
                    DENY_SERVICE,
                    RELEASE,
                    RELEASE_ACK,
                    RECLAIM,
                    KEEPALIVE,
                    KEEPALIVE_ACK,
                    RESET,
                    DISCONNECT,
                    DISCONNECT_ACK);

    private SamplePackets() {}

    /** Every sample. */
    public static List<Sample> all() {
        return ALL;
    }

    private static Sample sample(String name, String... parts) {
        return new Sample(name, String.join("", parts).replace(" ", ""));
    }
}
