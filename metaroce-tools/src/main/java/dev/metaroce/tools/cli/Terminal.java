package dev.metaroce.tools.cli;

import java.io.PrintWriter;
import java.util.Locale;

/**
 * Colours and number formats of human output. Colour is used only on a terminal, and not when
 * {@code NO_COLOR} is set (see no-color.org) or the terminal is dumb.
 */
public final class Terminal {
    private static final String RESET = "\u001b[0m";

    private final PrintWriter out;
    private final boolean colour;

    public Terminal(PrintWriter out, boolean colour) {
        this.out = out;
        this.colour = colour;
    }

    /** A terminal on the given writer, coloured when the process has one. */
    public static Terminal of(PrintWriter out) {
        return new Terminal(out, isInteractive() && wantsColour());
    }

    /** True when both standard input and output are a terminal. */
    @SuppressWarnings("SystemConsoleNull") // JDK 25 returns null again when there is no terminal
    public static boolean isInteractive() {
        java.io.Console console = System.console();
        return console != null && console.isTerminal();
    }

    private static boolean wantsColour() {
        String noColor = System.getenv("NO_COLOR");
        return (noColor == null || noColor.isEmpty()) && !"dumb".equals(System.getenv("TERM"));
    }

    /**
     * Draws over the line where the cursor is and stays on it; an empty text wipes it. Only where
     * {@link Progress#hasBar}.
     */
    public static void drawOver(String text, PrintWriter err) {
        err.print("\r" + text + "\u001b[K");
        err.flush();
    }

    /** Prints one line and flushes, so that lines of several processes keep their order. */
    public void line(String text) {
        out.println(text);
        out.flush();
    }

    @SuppressWarnings("AnnotateFormatMethod") // the annotation is not worth a dependency
    public void line(String format, Object... arguments) {
        line(String.format(Locale.ROOT, format, arguments));
    }

    public String bold(String text) {
        return paint("1", text);
    }

    public String dim(String text) {
        return paint("2", text);
    }

    public String green(String text) {
        return paint("32", text);
    }

    public String red(String text) {
        return paint("31", text);
    }

    public String cyan(String text) {
        return paint("36", text);
    }

    public String yellow(String text) {
        return paint("33", text);
    }

    private String paint(String code, String text) {
        return colour ? "\u001b[" + code + "m" + text + RESET : text;
    }

    /** A byte count with a unit of 2^10: "64 KiB", "1.5 MiB", "17 B". */
    public static String bytes(long count) {
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
        double value = count;
        int unit = 0;
        while (value >= 1024 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        boolean whole = value == Math.rint(value);
        return String.format(Locale.ROOT, whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
    }

    /** A count with separators between thousands. */
    public static String count(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }
}
