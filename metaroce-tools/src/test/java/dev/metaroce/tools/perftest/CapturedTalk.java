package dev.metaroce.tools.perftest;

import dev.metaroce.testing.Pcap;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** One end of perftest as it spoke in a capture; remembers what it is told. */
final class CapturedTalk implements Talk {
    private static final int PORT = 18_515;
    private static final int IP_AT = 14;
    private static final int IPV4 = 0x0800;
    private static final int TCP = 6;

    private final ByteBuffer said;
    final List<byte[]> heard = new ArrayList<>();

    /**
     * @param server which end this one is
     */
    CapturedTalk(String capture, boolean server) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        messages(capture, server).forEach(all::writeBytes);
        said = ByteBuffer.wrap(all.toByteArray());
    }

    /** What an end said, by TCP segment; nothing was lost when these captures were made. */
    static List<byte[]> messages(String capture, boolean server) {
        List<byte[]> messages = new ArrayList<>();
        for (byte[] bytes : Pcap.frames(capture)) {
            ByteBuffer frame = ByteBuffer.wrap(bytes);
            if (frame.getShort(IP_AT - 2) != IPV4 || frame.get(IP_AT + 9) != TCP) {
                continue;
            }
            int tcp = IP_AT + (frame.get(IP_AT) & 0xF) * 4;
            int data = tcp + (frame.get(tcp + 12) >>> 4 & 0xF) * 4;
            byte[] message = new byte[IP_AT + frame.getShort(IP_AT + 2) - data];
            frame.get(data, message);
            int portAt = server ? tcp : tcp + 2;
            if (message.length > 0 && (frame.getShort(portAt) & 0xFFFF) == PORT) {
                messages.add(message);
            }
        }
        return messages;
    }

    boolean isAtEnd() {
        return !said.hasRemaining();
    }

    @Override
    public void write(byte[] message) {
        heard.add(message);
    }

    @Override
    public byte[] read(int bytes) {
        byte[] next = new byte[bytes];
        said.get(next);
        return next;
    }

    @Override
    public String peer() {
        return "10.77.0.1:18515";
    }
}
