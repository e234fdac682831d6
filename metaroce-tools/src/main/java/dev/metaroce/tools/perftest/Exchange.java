package dev.metaroce.tools.perftest;

import dev.metaroce.tools.cli.ToolException;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The exchange of perftest 4.5 ("version 6.06") over TCP, both sides of it, for the bandwidth tests
 * in one direction. Client and server take turns; the client speaks first.
 *
 * <pre>
 *   open      version, two buffer sizes, path MTU, then the keys of each queue pair
 *   begin     keys again: of each queue pair, then once; before SENDs once more
 *   ...       the test itself, over RoCEv2
 *   finish    keys, the client's figures (not after SENDs) and keys, "done"
 * </pre>
 *
 * <p>A server does not need to know which test it is in: it answers each message by one of the same
 * kind until the client is done.
 */
public final class Exchange {
    private static final int VERSION_BYTES = 16;
    private static final String VERSION = "6.06";
    private static final double VERSION_MIN = 5.70;
    private static final int CYCLE_BUFFER_BYTES = 4096;
    private static final int CACHE_LINE_BYTES = 64;
    private static final int MTU_BYTES = 2;
    private static final int MTU_CODE_MAX = 5;
    private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);

    private final Talk talk;
    private final List<Keys> mine;

    /**
     * @param mine this end's queue pairs; the other end must have as many
     */
    public Exchange(Talk talk, List<Keys> mine) {
        this.talk = talk;
        this.mine = List.copyOf(mine);
    }

    /**
     * What both ends agreed on.
     *
     * @param mtu path MTU in bytes
     * @param theirs the other end's queue pairs
     */
    public record Agreement(int mtu, List<Keys> theirs) {}

    // Client

    /** Connects the queue pairs afterwards. */
    public Agreement open(int mtu) {
        requireVersion(ask(versionMessage()));
        ask(number(CYCLE_BUFFER_BYTES));
        ask(number(CACHE_LINE_BYTES));
        int agreed = Math.min(mtu, mtuOf(ask(mtuMessage(mtu))));
        List<Keys> theirs = new ArrayList<>();
        for (Keys keys : mine) {
            theirs.add(keysOf(ask(keys.encode())));
        }
        return new Agreement(agreed, theirs);
    }

    /** The queue pairs are connected: the test begins when this returns. */
    public void begin(boolean sends) {
        for (Keys keys : mine) {
            ask(keys.encode());
        }
        ask(mine.getFirst().encode());
        if (sends) {
            // The server has posted its receives when it answers.
            ask(mine.getFirst().encode());
        }
    }

    /** The test is over; tells the server its figures, except after SENDs. */
    public void finish(boolean sends, Figures figures) {
        ask(mine.getFirst().encode());
        if (!sends) {
            byte[] all = figures.encode();
            for (int at = 0; at < all.length; at += Figures.PART_BYTES) {
                ask(Arrays.copyOfRange(all, at, at + Figures.PART_BYTES));
            }
            ask(mine.getFirst().encode());
        }
        // Neither end waits for the other's last word.
        talk.write(DONE);
        talk.read(DONE.length);
    }

    private byte[] ask(byte[] message) {
        talk.write(message);
        return talk.read(message.length);
    }

    // Server

    /** Answers a client's {@link #open}; to connect the queue pairs before the next call. */
    public Agreement answerOpen(int mtu) {
        requireVersion(talk.read(VERSION_BYTES));
        talk.write(versionMessage());
        answer(number(CYCLE_BUFFER_BYTES));
        answer(number(CACHE_LINE_BYTES));
        int agreed = Math.min(mtu, mtuOf(answer(mtuMessage(mtu))));
        List<Keys> theirs = new ArrayList<>();
        for (Keys keys : mine) {
            theirs.add(keysOf(answer(keys.encode())));
        }
        return new Agreement(agreed, theirs);
    }

    /** Answers all that a client says until it is done; the figures that it told, 0 without. */
    public Figures answerRest() {
        ByteBuffer figures = ByteBuffer.allocate(Figures.PARTS * Figures.PART_BYTES);
        int asked = 0;
        while (true) {
            byte[] first = talk.read(1);
            // No figure of a real test starts with a byte that is a digit or a letter.
            switch (first[0]) {
                case '0' -> {
                    keysOf(rest(first, Keys.BYTES));
                    talk.write(mine.get(asked < mine.size() ? asked : 0).encode());
                    asked++;
                }
                case 'd' -> {
                    rest(first, DONE.length);
                    talk.write(DONE);
                    return Figures.decode(figures.array());
                }
                default -> {
                    byte[] figure = rest(first, Figures.PART_BYTES);
                    if (figures.hasRemaining()) {
                        figures.put(figure);
                    }
                    talk.write(figure);
                }
            }
        }
    }

    /** Reads as much as it writes then. */
    private byte[] answer(byte[] message) {
        byte[] theirs = talk.read(message.length);
        talk.write(message);
        return theirs;
    }

    private byte[] rest(byte[] first, int bytes) {
        byte[] whole = Arrays.copyOf(first, bytes);
        byte[] rest = talk.read(bytes - 1);
        System.arraycopy(rest, 0, whole, 1, rest.length);
        return whole;
    }

    // Messages

    private static byte[] versionMessage() {
        return Arrays.copyOf(VERSION.getBytes(StandardCharsets.US_ASCII), VERSION_BYTES);
    }

    private void requireVersion(byte[] message) {
        String text = new String(message, StandardCharsets.US_ASCII).replace("\0", "");
        if (!text.matches("\\d\\.\\d\\d") || Double.parseDouble(text) < VERSION_MIN) {
            throw ToolException.failed(
                    "%s is no perftest that this one can talk to: it says version '%s', not %s"
                            .formatted(talk.peer(), printable(text), VERSION));
        }
    }

    private static String printable(String text) {
        return text.replaceAll("[^ -~]", "?");
    }

    private static byte[] number(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    /** 256 bytes is "1", 4096 is "5". */
    private static byte[] mtuMessage(int mtu) {
        return new byte[] {(byte) ('0' + Integer.numberOfTrailingZeros(mtu) - 7), 0};
    }

    private int mtuOf(byte[] message) {
        int code = message[0] - '0';
        if (code < 1 || code > MTU_CODE_MAX || message[MTU_BYTES - 1] != 0) {
            throw ToolException.failed(
                    "perftest at %s names an unknown MTU: %s"
                            .formatted(talk.peer(), Arrays.toString(message)));
        }
        return 1 << (code + 7);
    }

    private Keys keysOf(byte[] message) {
        Keys keys = Keys.decode(message);
        if (keys == null) {
            throw ToolException.failed(
                    "perftest at %s sent no keys but '%s' (its GID index must be that of RoCEv2,"
                                    .formatted(
                                            talk.peer(),
                                            printable(
                                                    new String(message, StandardCharsets.US_ASCII)))
                            + " and both ends need the same -q)");
        }
        return keys;
    }
}
