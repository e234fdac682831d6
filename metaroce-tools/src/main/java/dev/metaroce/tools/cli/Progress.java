package dev.metaroce.tools.cli;

import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.time.Duration;

/** How far something is, on standard error: a bar on a terminal, else a line per quarter. */
public final class Progress implements AutoCloseable {
    private static final int QUARTERS = 4;
    private static final long MIB = 1 << 20;
    private static final int BAR_COLUMNS = 78;

    private final String task;
    private final long total;
    private final PrintWriter err;
    private final @Nullable ProgressBar bar;
    private int quartersTold;

    private Progress(String task, long total, PrintWriter err, @Nullable ProgressBar bar) {
        this.task = task;
        this.total = total;
        this.err = err;
        this.bar = bar;
    }

    /** Progress in bytes, from now on. */
    public static Progress ofBytes(String task, long totalBytes, PrintWriter err) {
        ProgressBarBuilder builder = builder(task, totalBytes, err).setUnit(" MiB", MIB);
        return new Progress(task, totalBytes, err, hasBar() ? builder.build() : null);
    }

    /** The same where bars are drawn, of what has been going on for a while. */
    public static Progress ofBytesSince(
            Duration elapsed, long done, String task, long totalBytes, PrintWriter err) {
        ProgressBarBuilder builder = builder(task, totalBytes, err).setUnit(" MiB", MIB);
        ProgressBar bar = builder.startsFrom(done, elapsed).build();
        return new Progress(task, totalBytes, err, bar);
    }

    private static ProgressBarBuilder builder(String task, long total, PrintWriter err) {
        return new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(total)
                .setStyle(ProgressBarStyle.COLORFUL_UNICODE_BLOCK)
                .setUpdateIntervalMillis(100)
                // The library's own console output moves the cursor up to its last line, and so
                // would draw over lines that others printed meanwhile.
                .setConsumer(
                        new DelegatingProgressBarConsumer(
                                text -> Terminal.drawOver(text, err), BAR_COLUMNS));
    }

    /** True when bars are drawn, so that other output has to wipe the line first. */
    public static boolean hasBar() {
        return Terminal.isInteractive() && !"dumb".equals(System.getenv("TERM"));
    }

    /** So much is done in all. */
    public void at(long done) {
        if (bar != null) {
            bar.stepTo(done);
            return;
        }
        int quarter = (int) (done * QUARTERS / Math.max(1, total));
        if (quarter > quartersTold) {
            quartersTold = quarter;
            err.println(task + ": " + 100 * quarter / QUARTERS + " %");
            err.flush();
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
            Terminal.drawOver("", err);
        }
    }
}
