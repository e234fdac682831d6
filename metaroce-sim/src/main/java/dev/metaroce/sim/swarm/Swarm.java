package dev.metaroce.sim.swarm;

import java.lang.foreign.Arena;

/**
 * Runs swarm seeds: random networks, devices, work and faults, with the production engine and real
 * payload. A run depends on nothing but its seed; any number may run at once, each on one thread.
 */
public final class Swarm {
    private static final int TRACE_LINES = 8;

    private Swarm() {}

    /** What the seed stands for, in words. */
    public static String plan(long seed) {
        return new SwarmPlan(seed).toString();
    }

    /** Runs one seed to its end; whatever the engine throws is a failure of the seed. */
    public static SwarmOutcome run(long seed, Canary canary) {
        SwarmPlan plan = new SwarmPlan(seed);
        try (Arena arena = Arena.ofConfined()) {
            SwarmRun run = new SwarmRun(plan, canary, arena);
            String failure = "";
            try {
                run.run();
            } catch (Objection e) {
                failure = e.getMessage() + "\n" + plan + run.state();
            } catch (RuntimeException e) {
                failure = e + "\n" + trace(e) + plan + run.state();
            }
            return new SwarmOutcome(
                    seed,
                    canary,
                    run.hash(),
                    run.simulation().eventCount(),
                    run.messagesCompleted(),
                    run.bytesCompleted(),
                    run.simulation().nowPs(),
                    failure);
        }
    }

    private static String trace(RuntimeException e) {
        StringBuilder text = new StringBuilder();
        StackTraceElement[] trace = e.getStackTrace();
        for (int i = 0; i < Math.min(TRACE_LINES, trace.length); i++) {
            text.append("  at ").append(trace[i]).append('\n');
        }
        return text.toString();
    }
}
