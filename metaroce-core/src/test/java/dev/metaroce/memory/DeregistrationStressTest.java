package dev.metaroce.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;
import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Application threads register and deregister while an engine thread looks up and places: MR-4.1-6.
 */
@Timeout(120)
class DeregistrationStressTest {
    private static final int BYTES = 8_192;

    private final RegionTable table = new RegionTable(new Rng(0xA11CE)::nextInt);

    /**
     * Case A09 without a network: the engine writes 0xAA under whatever key it last saw. When close
     * has returned, the owner writes 0x5A, registers the memory again, and finds 0x5A unharmed
     * after the engine made three more turns with the old key.
     */
    @Test
    void a09NotOneByteChangesAfterCloseReturned() throws Exception {
        MemorySegment memory = Arena.ofAuto().allocate(BYTES, 64);
        MemorySegment pattern = Arena.ofAuto().allocate(BYTES).fill((byte) 0x5A);
        AtomicInteger key = new AtomicInteger();
        AtomicLong turns = new AtomicLong();
        AtomicLong placements = new AtomicLong();
        AtomicBoolean stop = new AtomicBoolean();
        try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
            Future<?> engine =
                    executor.submit(() -> engine(key, turns, placements, stop, memory.address()));
            try {
                for (int round = 0; round < 1_000; round++) {
                    MemoryRegion region = table.register(memory, Access.ALL, 1);
                    key.set(region.rkey());
                    awaitAdvance(placements, 1, engine);
                    region.close();
                    memory.fill((byte) 0x5A);
                    MemoryRegion again = table.register(memory, Access.ALL, 1);
                    awaitAdvance(turns, 3, engine);
                    assertThat(memory.mismatch(pattern)).as("round %d", round).isEqualTo(-1);
                    again.close();
                }
            } finally {
                stop.set(true);
            }
            engine.get();
        }
    }

    private void engine(
            AtomicInteger key,
            AtomicLong turns,
            AtomicLong placements,
            AtomicBoolean stop,
            long va) {
        PacketMemory packet = new PacketMemory(BYTES);
        packet.segment().fill((byte) 0xAA);
        while (!stop.get()) {
            table.gate().enter();
            MemoryRegion region = table.lookup(key.get());
            if (region != null
                    && RegionTable.check(region, Access.REMOTE_WRITE, 1, va, BYTES)
                            == AccessVerdict.OK
                    && MemoryRegion.place(packet, 0, region, va, BYTES)) {
                placements.incrementAndGet();
            }
            table.gate().exit();
            turns.incrementAndGet();
        }
    }

    private static void awaitAdvance(AtomicLong counter, int steps, Future<?> engine)
            throws Exception {
        long target = counter.get() + steps;
        while (counter.get() < target) {
            if (engine.isDone()) {
                engine.get();
            }
            Thread.onSpinWait();
        }
    }

    /** Keys that stay are found at every moment, those that went never again. */
    @Test
    void lookupIsRightWhileTheTableChangesAndGrows() throws Exception {
        List<MemoryRegion> lasting = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            lasting.add(table.register(Arena.ofAuto().allocate(64), Access.ALL, 1));
        }
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger freedKey = new AtomicInteger();
        try (ExecutorService executor = Executors.newFixedThreadPool(3)) {
            Future<Long> reader = executor.submit(() -> read(lasting, freedKey, stop));
            Future<?> first = executor.submit(churn(1, freedKey));
            Future<?> second = executor.submit(churn(2, freedKey));
            try {
                first.get();
                second.get();
            } finally {
                stop.set(true);
            }
            assertThat(reader.get()).as("lookups made meanwhile").isPositive();
        }
        assertThat(table.live()).isEqualTo(50);
    }

    private long read(List<MemoryRegion> lasting, AtomicInteger freedKey, AtomicBoolean stop) {
        long lookups = 0;
        do {
            table.gate().enter();
            for (MemoryRegion region : lasting) {
                int freed = freedKey.get();
                if (table.lookup(freed) != null) {
                    throw new AssertionError("a freed key was found");
                }
                if (table.lookup(region.rkey()) != region) {
                    throw new AssertionError("a lasting region was not found");
                }
                lookups++;
            }
            table.gate().exit();
        } while (!stop.get());
        return lookups;
    }

    private Callable<Void> churn(long seed, AtomicInteger freedKey) {
        MemorySegment memory = Arena.ofAuto().allocate(64);
        return () -> {
            Rng rng = new Rng(seed);
            List<MemoryRegion> open = new ArrayList<>();
            for (int i = 0; i < 5_000; i++) {
                if (open.isEmpty() || rng.chance(i % 1_000 < 500 ? 0.8 : 0.2)) {
                    open.add(table.register(memory, Access.ALL, 1));
                } else {
                    MemoryRegion region = open.remove(rng.nextInt(open.size()));
                    region.close();
                    freedKey.set(region.rkey());
                }
            }
            open.forEach(MemoryRegion::close);
            return null;
        };
    }

    @Test
    void closeInsideTheEnginesOwnTurnDoesNotWaitForItself() {
        MemoryRegion region = table.register(Arena.ofAuto().allocate(64), Access.ALL, 1);
        table.gate().enter();
        assertThat(table.gate().isInTurnOfCaller()).isTrue();

        region.close();

        table.gate().exit();
        assertThat(table.gate().isInTurnOfCaller()).isFalse();
        assertThat(table.lookup(region.rkey())).isNull();
    }

    /** The waiter may not return while the turn it found is running. */
    @Test
    void closeReturnsOnlyAfterTheTurnThatWasRunning() throws Exception {
        MemoryRegion region = table.register(Arena.ofAuto().allocate(64), Access.ALL, 1);
        AtomicBoolean exited = new AtomicBoolean();
        table.gate().enter();
        try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
            Future<Boolean> closed =
                    executor.submit(
                            () -> {
                                region.close();
                                return exited.get();
                            });
            while (table.lookup(region.rkey()) != null) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 1_000; i++) {
                assertThat(closed.isDone()).isFalse();
            }
            exited.set(true);
            table.gate().exit();
            assertThat(closed.get()).as("close saw the end of the turn").isTrue();
        }
    }
}
