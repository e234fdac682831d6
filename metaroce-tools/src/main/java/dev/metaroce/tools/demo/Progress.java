package dev.metaroce.tools.demo;

import dev.metaroce.tools.cli.Terminal;

import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;

/** How far a transfer is, on standard error: a bar on a terminal, else a line per quarter. */
final class Progress implements AutoCloseable {
    private static final int QUARTERS = 4;
    private static final long MIB = 1 << 20;

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

    /** True when bars are drawn, so that other output has to wipe the line first. */
    static boolean hasBar() {
        return Terminal.isInteractive() && !"dumb".equals(System.getenv("TERM"));
    }

    private static ProgressBar newBar(String task, long totalBytes) {
        return new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(totalBytes)
                .setUnit(" MiB", MIB)
                .setStyle(ProgressBarStyle.COLORFUL_UNICODE_BLOCK)
                .setUpdateIntervalMillis(100)
                .setMaxRenderedLength(78)
                .clearDisplayOnFinish()
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
        }
    }
}
