package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ToolException;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The CSV file of {@code --histogram}; opened before the test, so that nothing is lost after it.
 */
final class HistogramFile implements AutoCloseable {
    private final Path path;
    private final PrintWriter out;

    private HistogramFile(Path path, PrintWriter out) {
        this.path = path;
        this.out = out;
    }

    static HistogramFile open(Path path) {
        try {
            HistogramFile file =
                    new HistogramFile(path, new PrintWriter(Files.newBufferedWriter(path)));
            file.out.println(LatencyMeter.CSV_HEADER);
            return file;
        } catch (IOException e) {
            throw ToolException.usage(
                    "cannot write --histogram '%s' (%s): name another file"
                            .formatted(path, e.getClass().getSimpleName()));
        }
    }

    void add(long messageBytes, LatencyMeter meter) {
        meter.writeCsv(messageBytes, out);
        if (out.checkError()) {
            throw ToolException.failed(
                    "cannot write --histogram '%s': is the disk full?".formatted(path));
        }
    }

    @Override
    public void close() {
        out.close();
    }
}
