package dev.metaroce.tools.demo;

import dev.metaroce.tools.cli.Terminal;

import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;

/** How far a transfer is, on standard error: a bar on a terminal, else a line per quarter. */
final class Progress implements AutoCloseable {
    private static final int QUARTERS = 4;
    private static final long MIB = 1 << 20;
    private static final int BAR_COLUMNS = 78;

    private final String task;
    private final long totalBytes;
    private final PrintWriter err;
    private final @Nullable ProgressBar bar;
    private int quartersTold;

    Progress(String task, long totalBytes, PrintWriter err) {
        this.task = task;
        this.totalBytes = totalBytes;
        this.err = err;
        bar = hasBar() ? newBar(task, totalBytes) : null;
    }

    /**
     * The library's own console output moves the cursor up to its last line, and so would draw over
     * lines that others printed meanwhile; this one stays on the line where the cursor is.
     */
    private void draw(String text) {
        err.print("\r" + text + "\u001b[K");
        err.flush();
    }

    /** True when bars are drawn, so that other output has to wipe the line first. */
    static boolean hasBar() {
        return Terminal.isInteractive() && !"dumb".equals(System.getenv("TERM"));
    }

    private ProgressBar newBar(String task, long totalBytes) {
        return new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(totalBytes)
                .setUnit(" MiB", MIB)
                .setStyle(ProgressBarStyle.COLORFUL_UNICODE_BLOCK)
                .setUpdateIntervalMillis(100)
                .setConsumer(new DelegatingProgressBarConsumer(this::draw, BAR_COLUMNS))
                .build();
    }

    void at(long bytes) {
        if (bar != null) {
            bar.stepTo(bytes);
            return;
        }
        int quarter = (int) (bytes * QUARTERS / Math.max(1, totalBytes));
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
            draw("");
        }
    }
}
