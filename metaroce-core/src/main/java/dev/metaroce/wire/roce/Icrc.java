package dev.metaroce.wire.roce;

import dev.metaroce.util.Invariant;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Sealer;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;

/**
 * The invariant CRC, the last four bytes of every RoCEv2 packet (docs/rocev2.md, section 3): CRC-32
 * as of Ethernet, least significant byte first, over eight bytes 0xFF, IP and UDP header, and the
 * packet up to the ICRC. What a router may change counts as all ones: TOS, TTL, header checksum;
 * traffic class, flow label, hop limit; the UDP checksum; byte 4 of the BTH.
 *
 * <p>An engine sees UDP payloads only and so builds the IP header anew, as it is on the wire: IPv4
 * without options and with DF, or IPv6 without extensions. We send identification 0. That of a
 * received packet is unknown, and is solved for: CRC is linear, so a wrong identification changes
 * the CRC in a way that can be taken back, which leaves 16 bits to check.
 *
 * <p>Call {@link #flow} first, then any number of the others for packets of that flow. Owned by one
 * thread; no method allocates. A payload that is {@linkplain PacketMemory#elide elided} counts in
 * the lengths only.
 */
public final class Icrc implements Sealer {
    /** Bytes of the ICRC. */
    public static final int BYTES = 4;

    /** The longest packet: payload of the largest MTU behind the longest headers it can have. */
    public static final int MAX_PACKET_BYTES =
            Bth.BYTES + Reth.BYTES + ImmDt.BYTES + PathMtu.MAX_BYTES + BYTES;

    /** From {@link #check}: the ICRC is wrong. */
    public static final int MISMATCH = -1;

    private static final int POLYNOMIAL = 0xEDB8_8320;
    private static final int DUMMY_BYTES = 8;
    private static final int UDP_BYTES = 8;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int IPV4_MAX_BYTES = 60;
    private static final int UDP_PROTOCOL = 17;
    private static final int DONT_FRAGMENT = 0x4000;

    /** Byte of the BTH that has the congestion notices. */
    private static final int NOTICES_AT = 4;

    /** Bytes of IPv4 and UDP header from behind the identification on. */
    private static final int BEHIND_IDENTIFICATION = 14 + UDP_BYTES;

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    private static final int[] TAKEN_BACK = takenBack(BEHIND_IDENTIFICATION + MAX_PACKET_BYTES);

    /** What stands before the second part of the packet, the masked BTH included. */
    private final byte[] prefix = new byte[DUMMY_BYTES + IPV4_MAX_BYTES + UDP_BYTES + Bth.BYTES];

    private @Nullable NetAddress source;
    private @Nullable NetAddress destination;
    private int ipBytes;

    public Icrc() {
        for (int i = 0; i < DUMMY_BYTES; i++) {
            prefix[i] = (byte) 0xFF;
        }
    }

    /**
     * Says who sends the next packets to whom.
     *
     * @param from address and UDP source port
     * @param to address and UDP destination port
     */
    public void flow(NetAddress from, NetAddress to) {
        if (from.equals(source) && to.equals(destination)) {
            return;
        }
        Invariant.check(from.isIpv4() == to.isIpv4(), "a flow of IPv4 and IPv6");
        source = from;
        destination = to;
        if (from.isIpv4()) {
            ipv4(from, to);
        } else {
            ipv6(from, to);
        }
        int udp = DUMMY_BYTES + ipBytes;
        put16(udp, from.port());
        put16(udp + 2, to.port());
        put16(udp + 6, 0xFFFF);
    }

    /** Puts pad and ICRC behind a packet whose payload follows its headers. */
    public void seal(PacketMemory m, int at, int headerBytes, int payloadBytes) {
        int covered = headerBytes + putPad(m, at + headerBytes, payloadBytes);
        int crc = compute(m, at, covered + BYTES, covered - Bth.BYTES, NOTHING, 0, 0);
        m.put32(at + covered, Integer.reverseBytes(crc));
    }

    /** Puts pad and ICRC behind a packet whose payload is elsewhere. */
    @Override
    public void seal(
            PacketMemory m, int at, int headerBytes, int payloadBytes, ByteBuffer payload) {
        int covered = headerBytes + putPad(m, at + headerBytes, payloadBytes);
        int pad = at + headerBytes + payloadBytes;
        int crc =
                compute(
                        m,
                        at,
                        covered + BYTES,
                        headerBytes - Bth.BYTES,
                        payload,
                        pad,
                        at + covered - pad);
        m.put32(at + covered, Integer.reverseBytes(crc));
    }

    /**
     * Checks a received packet.
     *
     * @param bytes of the packet with its ICRC, and with an elided payload; at least 16 are there,
     *     and they are at most {@link #MAX_PACKET_BYTES}
     * @return the identification, 0..65535, for which the ICRC is right (IPv6: 0), or {@link
     *     #MISMATCH}
     */
    public int check(PacketMemory m, int at, int bytes) {
        int covered = bytes - m.elidedBytes() - BYTES;
        int computed = compute(m, at, bytes, covered - Bth.BYTES, NOTHING, 0, 0);
        int difference = computed ^ Integer.reverseBytes(m.i32(at + covered));
        if (difference == 0) {
            return 0;
        }
        if (ipBytes == IPV6_BYTES) {
            return MISMATCH;
        }
        // What two bytes of a difference have become by the end is multiplied back to what they
        // were; whatever else differs leaves something in the upper half.
        int back = multiply(difference, TAKEN_BACK[BEHIND_IDENTIFICATION + covered]);
        return back >>> 16 == 0 ? Short.toUnsignedInt(Short.reverseBytes((short) back)) : MISMATCH;
    }

    /**
     * Checks a received packet whose IP header can be seen, every bit of it; forgets the flow.
     *
     * @param ipAt offset of an IP header, IPv4 with options or without, or IPv6 without extensions
     * @param at offset of the packet, behind the UDP header
     * @param bytes of the packet with its ICRC, at least 16
     */
    public boolean checkWithHeader(PacketMemory m, int ipAt, int at, int bytes) {
        source = null;
        ipBytes = at - UDP_BYTES - ipAt;
        m.bytes().get(ipAt, prefix, DUMMY_BYTES, ipBytes + UDP_BYTES);
        if (m.u8(ipAt) >>> 4 == 4) {
            put8(DUMMY_BYTES + 1, 0xFF);
            put8(DUMMY_BYTES + 8, 0xFF);
            put16(DUMMY_BYTES + 10, 0xFFFF);
        } else {
            put16(DUMMY_BYTES, 0x6FFF);
            put16(DUMMY_BYTES + 2, 0xFFFF);
            put8(DUMMY_BYTES + 7, 0xFF);
        }
        put16(DUMMY_BYTES + ipBytes + 6, 0xFFFF);
        int covered = bytes - BYTES;
        return crc(m, at, covered - Bth.BYTES, NOTHING, 0, 0)
                == Integer.reverseBytes(m.i32(at + covered));
    }

    private int putPad(PacketMemory m, int at, int payloadBytes) {
        int pad = Bth.padBytes(payloadBytes);
        for (int i = 0; i < pad; i++) {
            m.put8(at + payloadBytes + i, 0);
        }
        return payloadBytes + pad;
    }

    private int compute(
            PacketMemory m,
            int at,
            int bytes,
            int behindBth,
            ByteBuffer payload,
            int padAt,
            int padBytes) {
        int udpBytes = UDP_BYTES + bytes;
        if (ipBytes == IPV6_BYTES) {
            put16(DUMMY_BYTES + 4, udpBytes);
        } else {
            put16(DUMMY_BYTES + 2, IPV4_BYTES + udpBytes);
        }
        put16(DUMMY_BYTES + ipBytes + 4, udpBytes);
        return crc(m, at, behindBth, payload, padAt, padBytes);
    }

    private int crc(
            PacketMemory m, int at, int behindBth, ByteBuffer payload, int padAt, int padBytes) {
        int bth = DUMMY_BYTES + ipBytes + UDP_BYTES;
        m.bytes().get(at, prefix, bth, Bth.BYTES);
        put8(bth + NOTICES_AT, 0xFF);
        return m.crc32(
                prefix, bth + Bth.BYTES, at + Bth.BYTES, behindBth, payload, padAt, padBytes);
    }

    private void ipv4(NetAddress from, NetAddress to) {
        ipBytes = IPV4_BYTES;
        put16(DUMMY_BYTES, 0x45FF);
        put16(DUMMY_BYTES + 4, 0);
        put16(DUMMY_BYTES + 6, DONT_FRAGMENT);
        put16(DUMMY_BYTES + 8, 0xFF00 | UDP_PROTOCOL);
        put16(DUMMY_BYTES + 10, 0xFFFF);
        put32(DUMMY_BYTES + 12, (int) from.low());
        put32(DUMMY_BYTES + 16, (int) to.low());
    }

    private void ipv6(NetAddress from, NetAddress to) {
        ipBytes = IPV6_BYTES;
        put32(DUMMY_BYTES, 0x6FFF_FFFF);
        put16(DUMMY_BYTES + 6, (UDP_PROTOCOL << 8) | 0xFF);
        put32(DUMMY_BYTES + 8, (int) (from.high() >>> 32));
        put32(DUMMY_BYTES + 12, (int) from.high());
        put32(DUMMY_BYTES + 16, (int) (from.low() >>> 32));
        put32(DUMMY_BYTES + 20, (int) from.low());
        put32(DUMMY_BYTES + 24, (int) (to.high() >>> 32));
        put32(DUMMY_BYTES + 28, (int) to.high());
        put32(DUMMY_BYTES + 32, (int) (to.low() >>> 32));
        put32(DUMMY_BYTES + 36, (int) to.low());
    }

    private void put8(int offset, int value) {
        prefix[offset] = (byte) value;
    }

    private void put16(int offset, int value) {
        prefix[offset] = (byte) (value >>> 8);
        prefix[offset + 1] = (byte) value;
    }

    private void put32(int offset, int value) {
        put16(offset, value >>> 16);
        put16(offset + 2, value);
    }

    /** Product of two polynomials modulo that of CRC-32, bit 31 the lowest power. */
    private static int multiply(int a, int b) {
        int product = 0;
        int shifted = b;
        for (int bit = 31; bit >= 0; bit--) {
            product ^= shifted & -((a >>> bit) & 1);
            shifted = (shifted >>> 1) ^ (POLYNOMIAL & -(shifted & 1));
        }
        return product;
    }

    /** For 0..n bytes, what takes back the two bytes before them and their own shift. */
    private static int[] takenBack(int n) {
        int[] factors = new int[n + 1];
        int factor = Integer.MIN_VALUE;
        for (int i = 0; i < n + 3; i++) {
            if (i >= 2) {
                factors[i - 2] = factor;
            }
            for (int bit = 0; bit < 8; bit++) {
                // Division by x: the polynomial has the term 1, so adding it makes x a factor.
                factor = factor < 0 ? ((factor ^ POLYNOMIAL) << 1) | 1 : factor << 1;
            }
        }
        return factors;
    }
}
