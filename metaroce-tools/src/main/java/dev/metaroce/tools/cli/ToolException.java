package dev.metaroce.tools.cli;

/** Ends a command with one line on standard error: what, which value, what to do. */
public final class ToolException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int exitCode;

    private ToolException(int exitCode, String message) {
        super(message);
        this.exitCode = exitCode;
    }

    /** Wrong command line or input; exit code {@link ExitCode#USAGE}. */
    public static ToolException usage(String message) {
        return new ToolException(ExitCode.USAGE, message);
    }

    /** Failed while it ran; exit code {@link ExitCode#FAILED}. */
    public static ToolException failed(String message) {
        return new ToolException(ExitCode.FAILED, message);
    }

    /** The machine does not allow it; exit code {@link ExitCode#ENVIRONMENT}. */
    public static ToolException environment(String message) {
        return new ToolException(ExitCode.ENVIRONMENT, message);
    }

    /** Result on the wrong side of a threshold; exit code {@link ExitCode#THRESHOLD}. */
    public static ToolException threshold(String message) {
        return new ToolException(ExitCode.THRESHOLD, message);
    }

    public int exitCode() {
        return exitCode;
    }
}
