package dev.metaroce.tools.sim;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * While open, SIGINT and SIGTERM do not end the process at once: work is asked to stop, and may
 * report before the process ends. Its exit code is the usual one then: 130 or 143.
 */
final class Interruption implements AutoCloseable {
    private static final long REPORT_SECONDS = 60;

    private final CountDownLatch reported = new CountDownLatch(1);
    private final Thread hook = new Thread(this::onShutdown, "metaroce-interruption");
    private volatile boolean isAsked;

    static Interruption open() {
        Interruption opened = new Interruption();
        Runtime.getRuntime().addShutdownHook(opened.hook);
        return opened;
    }

    private Interruption() {}

    private void onShutdown() {
        isAsked = true;
        try {
            if (!reported.await(REPORT_SECONDS, TimeUnit.SECONDS)) {
                System.err.println("metaroce sim: interrupted, and the report does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** True once the process is to end. */
    boolean isAsked() {
        return isAsked;
    }

    /** All is reported. */
    @Override
    public void close() {
        reported.countDown();
        if (!isAsked) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                // The process is ending this very moment, and the hook does not wait any more.
            }
        }
    }
}
