package dev.metaroce.tools.study;

import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.Progress;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/** Runs one setting with all seeds, as many at a time as there are threads. */
final class Trials implements AutoCloseable {
    private final Output output;
    private final long firstSeed;
    private final int seeds;
    private final ExecutorService threads;
    private final BooleanSupplier mayGoOn;

    /**
     * A simulation of one setting.
     *
     * @param <T> what came of it
     */
    interface Trial<T> {
        /**
         * @param mayGoOn asked several times a second; when it says no, the result does not count
         */
        T run(long seed, BooleanSupplier mayGoOn);
    }

    Trials(Output output, long firstSeed, int seeds, int atOnce, BooleanSupplier mayGoOn) {
        this.output = output;
        this.firstSeed = firstSeed;
        this.seeds = seeds;
        threads = Executors.newFixedThreadPool(atOnce);
        this.mayGoOn = mayGoOn;
    }

    /**
     * Runs all seeds of a setting.
     *
     * @param what the setting, for who watches
     * @return what came of each seed, in their order; fewer, or nothing, after an interruption
     */
    <T> List<T> run(String what, Trial<T> trial) {
        List<Future<@Nullable T>> futures = new ArrayList<>();
        for (int i = 0; i < seeds; i++) {
            long seed = firstSeed + i;
            futures.add(threads.submit(() -> runOne(seed, trial)));
        }
        List<T> results = new ArrayList<>();
        for (int i = 0; i < seeds; i++) {
            tell("%s: %d of %d seeds".formatted(what, i, seeds));
            T result = await(futures.get(i));
            if (result != null) {
                results.add(result);
            }
        }
        tell("");
        return results;
    }

    private <T> @Nullable T runOne(long seed, Trial<T> trial) {
        if (!mayGoOn.getAsBoolean()) {
            return null;
        }
        T result = trial.run(seed, mayGoOn);
        return mayGoOn.getAsBoolean() ? result : null;
    }

    private static <T> @Nullable T await(Future<@Nullable T> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException known -> throw known;
                case Error fatal -> throw fatal;
                case null, default -> throw new IllegalStateException(e);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ToolException.failed("interrupted while a simulation ran");
        }
    }

    private void tell(String status) {
        if (Progress.hasBar()) {
            Terminal.drawOver(status, output.err());
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
