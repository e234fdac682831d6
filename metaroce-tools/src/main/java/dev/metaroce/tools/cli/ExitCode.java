package dev.metaroce.tools.cli;

/** What the command's exit status says. */
public final class ExitCode {
    public static final int OK = 0;

    /** It was tried and did not work: no answer, a failed transfer, hashes that differ. */
    public static final int FAILED = 1;

    /** The command line or an input named by it is wrong; nothing was sent. */
    public static final int USAGE = 2;

    /** The machine does not allow it: port taken, no memory, a wrong Java. */
    public static final int ENVIRONMENT = 3;

    /** The test ran, and its result is on the wrong side of a threshold. */
    public static final int THRESHOLD = 4;

    private ExitCode() {}
}
