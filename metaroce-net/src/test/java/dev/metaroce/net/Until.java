package dev.metaroce.net;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a fact itself instead of for some time. */
final class Until {
    static final long TEN_SECONDS_NS = 10_000_000_000L;
    private static final long LOOK_NS = 100_000;

    private Until() {}

    /** True as soon as the condition holds; false when it does not within ten seconds. */
    static boolean holds(BooleanSupplier condition) {
        return holds(condition, TEN_SECONDS_NS);
    }

    static boolean holds(BooleanSupplier condition, long timeoutNs) {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - startNs > timeoutNs) {
                return condition.getAsBoolean();
            }
            LockSupport.parkNanos(LOOK_NS);
        }
        return true;
    }

    /** Fails when the condition does not hold within a minute, a long time on a busy machine. */
    static void expect(String what, BooleanSupplier condition) {
        if (!holds(condition, 6 * TEN_SECONDS_NS)) {
            throw new AssertionError("not within a minute: " + what);
        }
    }

    /** Platform threads alive whose names start with {@code prefix}. */
    static long threadsNamed(String prefix) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(prefix))
                .count();
    }
}
