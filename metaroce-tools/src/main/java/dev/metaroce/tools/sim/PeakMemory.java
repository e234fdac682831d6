package dev.metaroce.tools.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The most memory that this process ever had. */
final class PeakMemory {
    private static final String FIELD = "VmHWM:";

    private PeakMemory() {}

    /** Resident bytes at their peak; where the system does not tell, the heap now. */
    static long bytes() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith(FIELD)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
                }
            }
        } catch (IOException e) {
            // Not Linux.
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
