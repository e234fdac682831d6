package dev.metaroce.tools.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * While open, SIGINT and SIGTERM do not end the process at once: work is asked to stop, and may
 * report before the process ends. After such a signal the JVM waits for hooks only, so this one
 * waits for the report.
 */
public final class Interruption implements AutoCloseable {
    /** The exit code is that of the signal: 130 or 143. */
    private static final int OF_THE_SIGNAL = -1;

    private final Runnable stop;
    private final Runnable late;
    private final int reportSeconds;
    private final CountDownLatch reported = new CountDownLatch(1);
    private final Thread hook = new Thread(this::onShutdown, "metaroce-interruption");
    private volatile boolean isAsked;
    private volatile int exitCode;

    private Interruption(Runnable stop, Runnable late, int reportSeconds, int exitCode) {
        this.stop = stop;
        this.late = late;
        this.reportSeconds = reportSeconds;
        this.exitCode = exitCode;
    }

    /**
     * For work that looks at {@link #isAsked} now and then. The process ends with the code of the
     * signal.
     *
     * @param late called when the report is not there in time
     */
    public static Interruption bySignal(Runnable late, int reportSeconds) {
        return opened(new Interruption(() -> {}, late, reportSeconds, OF_THE_SIGNAL));
    }

    /**
     * For work that {@code stop} stops. The process ends with the code of {@link #endsWith}, or as
     * a failure when there is none in time.
     */
    public static Interruption byStopping(Runnable stop, int reportSeconds) {
        return opened(new Interruption(stop, () -> {}, reportSeconds, ExitCode.FAILED));
    }

    private static Interruption opened(Interruption interruption) {
        Runtime.getRuntime().addShutdownHook(interruption.hook);
        return interruption;
    }

    private void onShutdown() {
        isAsked = true;
        stop.run();
        try {
            if (!reported.await(reportSeconds, TimeUnit.SECONDS)) {
                late.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (exitCode != OF_THE_SIGNAL) {
            Runtime.getRuntime().halt(exitCode);
        }
    }

    /** True once the process is to end. */
    public boolean isAsked() {
        return isAsked;
    }

    /** What the process ends with when it was interrupted; returns the same. */
    public int endsWith(int code) {
        exitCode = code;
        return code;
    }

    /** All is reported. */
    @Override
    public void close() {
        reported.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // Shutting down already: the hook ends the process.
        }
    }
}
