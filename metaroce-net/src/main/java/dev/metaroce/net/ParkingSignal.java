package dev.metaroce.net;

import dev.metaroce.verbs.Signal;

import java.lang.invoke.VarHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Application threads, virtual ones too, that sleep until the driver's thread raises. Nobody spins:
 * a waiting thread is in the set before it looks at its condition, and the raising thread looks
 * into the set after it made the condition true, with a fence in between.
 */
final class ParkingSignal implements Signal {
    private final UdpDriver driver;
    private final Set<Thread> waiting = ConcurrentHashMap.newKeySet();

    ParkingSignal(UdpDriver driver) {
        this.driver = driver;
    }

    @Override
    public void raise() {
        VarHandle.fullFence();
        if (!waiting.isEmpty()) {
            waiting.forEach(LockSupport::unpark);
        }
    }

    @Override
    public boolean await(BooleanSupplier condition, long timeoutNs) {
        Thread self = Thread.currentThread();
        long startNs = System.nanoTime();
        waiting.add(self);
        driver.parked().add(self);
        try {
            while (!condition.getAsBoolean()) {
                driver.checkMayWait();
                long leftNs = timeoutNs - (System.nanoTime() - startNs);
                if (leftNs <= 0 || self.isInterrupted()) {
                    return condition.getAsBoolean();
                }
                LockSupport.parkNanos(this, leftNs);
            }
            return true;
        } finally {
            waiting.remove(self);
            driver.parked().remove(self);
        }
    }
}
