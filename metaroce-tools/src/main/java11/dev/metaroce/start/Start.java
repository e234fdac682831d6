package dev.metaroce.start;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Where the jar starts. This class alone is compiled for old versions of Java, so that one of them
 * can say what is missing, and the rest is not named before that is settled.
 */
public final class Start {
    private static final int JAVA_NEEDED = 25;

    /** The exit code for a machine that lacks something, as everywhere in the command. */
    private static final int CANNOT_START = 3;

    private Start() {}

    public static void main(String[] arguments) throws Throwable {
        int java = Runtime.version().feature();
        if (java < JAVA_NEEDED) {
            System.err.printf(
                    "metaroce: needs Java %d or newer, and this is Java %d of %s: run it with the"
                            + " java of a JDK %d, or by ./metaroce, which finds one%n",
                    JAVA_NEEDED, java, System.getProperty("java.home"), JAVA_NEEDED);
            System.exit(CANNOT_START);
        }
        MethodHandle main =
                MethodHandles.lookup()
                        .findStatic(
                                Class.forName("dev.metaroce.tools.MetaRoce"),
                                "main",
                                MethodType.methodType(void.class, String[].class));
        main.invokeExact(arguments);
    }
}
