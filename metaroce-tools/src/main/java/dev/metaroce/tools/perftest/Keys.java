package dev.metaroce.tools.perftest;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One end of a queue pair as perftest tells it: fields in hexadecimal digits, each with a colon
 * behind it, and a byte 0, {@value #BYTES} bytes in all. The field for a LID stays 0 in RoCEv2.
 *
 * @param reads READs and atomics that this end would have under way at once
 * @param qpn number of the queue pair, 24 bits
 * @param psn of the first packet that this end is going to send, 24 bits
 * @param rkey of its memory
 * @param address of its memory
 * @param host where the queue pair is; port 0, the GID has none
 * @param sharedReceive number of its shared receive queue, 0 for none
 */
public record Keys(
        int reads, int qpn, int psn, int rkey, long address, NetAddress host, int sharedReceive) {
    static final int BYTES = 108;

    /** LID, reads, QPN, PSN, rkey, address, 16 bytes of GID, shared receive queue. */
    private static final Pattern FORM =
            Pattern.compile(
                    "([0-9a-f]{4}):([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{8}):"
                            + "([0-9a-f]{16}):((?:[0-9a-f]{2}:){16})([0-9a-f]{8}):\0");

    /** The message. */
    public byte[] encode() {
        StringBuilder text = new StringBuilder(BYTES);
        text.append(
                String.format(
                        Locale.ROOT,
                        "0000:%04x:%06x:%06x:%08x:%016x:",
                        reads,
                        qpn,
                        psn,
                        rkey,
                        address));
        for (long half : new long[] {host.high(), host.low()}) {
            for (int shift = 56; shift >= 0; shift -= 8) {
                text.append(String.format(Locale.ROOT, "%02x:", half >>> shift & 0xFF));
            }
        }
        text.append(String.format(Locale.ROOT, "%08x:\0", sharedReceive));
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** What a message says; null when it has another form. */
    static @Nullable Keys decode(byte[] message) {
        Matcher fields = FORM.matcher(new String(message, StandardCharsets.US_ASCII));
        if (!fields.matches()) {
            return null;
        }
        String gid = fields.group(7).replace(":", "");
        return new Keys(
                Integer.parseInt(fields.group(2), 16),
                Integer.parseInt(fields.group(3), 16),
                Integer.parseInt(fields.group(4), 16),
                Integer.parseUnsignedInt(fields.group(5), 16),
                Long.parseUnsignedLong(fields.group(6), 16),
                new NetAddress(
                        Long.parseUnsignedLong(gid, 0, 16, 16),
                        Long.parseUnsignedLong(gid, 16, 32, 16),
                        0,
                        0,
                        0),
                Integer.parseUnsignedInt(fields.group(8), 16));
    }
}
