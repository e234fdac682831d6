package dev.metaroce.verbs;

import java.util.function.BooleanSupplier;

/**
 * The driver of a device whose engine its owner drives by hand, packet by packet: tests, examples,
 * simulators of one's own. It does nothing by itself.
 */
public final class ManualDriver implements Driver {
    @Override
    public int progress() {
        return 0;
    }

    @Override
    public void idle(long maxNs) {}

    @Override
    public void wake() {}

    /** Looks once; only the owner can move time. */
    @Override
    public boolean await(BooleanSupplier condition, long timeoutNs) {
        return condition.getAsBoolean();
    }

    @Override
    public void handlerFailed(RuntimeException cause) {
        throw cause;
    }

    @Override
    public void close() {}
}
