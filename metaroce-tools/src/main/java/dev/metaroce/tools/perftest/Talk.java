package dev.metaroce.tools.perftest;

/** A stream of bytes to the other program, which sends and takes whole messages in turns. */
public interface Talk {
    /** Sends a message in one piece: perftest takes a message with one read and no more. */
    void write(byte[] message);

    /**
     * Waits for the next bytes.
     *
     * @throws dev.metaroce.tools.cli.ToolException when the other end went away
     */
    byte[] read(int bytes);

    /** Who is at the other end, for messages to people. */
    String peer();
}
