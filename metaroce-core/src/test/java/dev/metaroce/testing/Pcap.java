package dev.metaroce.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Reads classic capture files of Ethernet, microseconds, low byte first. */
public final class Pcap {
    private static final int MAGIC = 0xA1B2_C3D4;
    private static final int LINK_TYPE_AT = 20;
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_HEADER_BYTES = 16;
    private static final int CAPTURED_AT = 8;
    private static final int LENGTH_AT = 12;
    private static final int ETHERNET = 1;
    private static final int ETHERNET_BYTES = 14;
    private static final int TYPE_AT = 12;
    private static final int IPV4 = 0x0800;
    private static final int IPV6 = 0x86DD;
    private static final int UDP_PROTOCOL = 17;
    private static final int ROCE_PORT = 4_791;

    private Pcap() {}

    /** Whole frames of a capture of Soft-RoCE in the resources of this module, from Ethernet on. */
    public static List<byte[]> frames(String capture) {
        ByteBuffer file = ByteBuffer.wrap(read(capture)).order(ByteOrder.LITTLE_ENDIAN);
        check(file.getInt(0) == MAGIC && file.getInt(LINK_TYPE_AT) == ETHERNET, capture);
        List<byte[]> frames = new ArrayList<>();
        int at = FILE_HEADER_BYTES;
        while (at < file.capacity()) {
            int bytes = file.getInt(at + CAPTURED_AT);
            check(bytes == file.getInt(at + LENGTH_AT), capture);
            byte[] frame = new byte[bytes];
            file.get(at + RECORD_HEADER_BYTES, frame);
            frames.add(frame);
            at += RECORD_HEADER_BYTES + bytes;
        }
        return frames;
    }

    /** The RoCEv2 packets among {@link #frames}, each from its IP header on. */
    public static List<byte[]> rocePackets(String capture) {
        List<byte[]> packets = new ArrayList<>();
        for (byte[] frame : frames(capture)) {
            ByteBuffer ip =
                    ByteBuffer.wrap(frame, ETHERNET_BYTES, frame.length - ETHERNET_BYTES).slice();
            int type = ByteBuffer.wrap(frame).getShort(TYPE_AT) & 0xFFFF;
            int header = type == IPV4 ? (ip.get(0) & 0xF) * 4 : 40;
            int protocolAt = type == IPV4 ? 9 : 6;
            if ((type == IPV4 || type == IPV6)
                    && ip.get(protocolAt) == UDP_PROTOCOL
                    && (ip.getShort(header + 2) & 0xFFFF) == ROCE_PORT) {
                byte[] packet = new byte[header + (ip.getShort(header + 4) & 0xFFFF)];
                ip.get(0, packet);
                packets.add(packet);
            }
        }
        return packets;
    }

    private static byte[] read(String capture) {
        String name = "/rxe/" + capture + ".pcap";
        try (InputStream in = Pcap.class.getResourceAsStream(name)) {
            check(in != null, name);
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void check(boolean ok, String capture) {
        if (!ok) {
            throw new IllegalStateException("no capture that this can read: " + capture);
        }
    }
}
