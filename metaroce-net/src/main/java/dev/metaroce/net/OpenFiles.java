package dev.metaroce.net;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How many files and sockets this process may have open, as Linux tells it. Stateless; any thread.
 * Looking takes a free file itself.
 */
public final class OpenFiles {
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final File OPEN = new File("/proc/self/fd");
    private static final String LIMIT_ROW = "Max open files";

    private OpenFiles() {}

    /** What to tell a user who ran into the limit: its value, what is in use, what is needed. */
    public static String advice(int needed) {
        try {
            return "the limit of open files is "
                    + limit()
                    + " (ulimit -n), "
                    + inUse()
                    + " are in use and "
                    + needed
                    + " more are needed: raise it";
        } catch (IOException e) {
            return "the limit of open files is too low (ulimit -n), "
                    + needed
                    + " more are needed: raise it";
        }
    }

    /** True when so many more files cannot be opened; false when that cannot be told. */
    public static boolean areTooFew(int needed) {
        try {
            return inUse() + needed > limit();
        } catch (IOException e) {
            return false;
        }
    }

    private static long limit() throws IOException {
        for (String row : Files.readAllLines(LIMITS)) {
            if (row.startsWith(LIMIT_ROW)) {
                String soft = row.substring(LIMIT_ROW.length()).strip().split(" ")[0];
                return soft.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(soft);
            }
        }
        throw new IOException("no limit of open files in " + LIMITS);
    }

    private static int inUse() throws IOException {
        String[] open = OPEN.list();
        if (open == null) {
            throw new IOException("cannot list " + OPEN);
        }
        // One was open for the list itself.
        return open.length - 1;
    }
}
