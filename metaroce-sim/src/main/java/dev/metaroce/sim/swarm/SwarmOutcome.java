package dev.metaroce.sim.swarm;

/**
 * How the run of one seed ended.
 *
 * @param hash of everything that happened; equal for the same seed, whatever else runs
 * @param events of the simulation
 * @param messages that completed well
 * @param payloadBytes of them
 * @param simulatedPs virtual time
 * @param failure empty when no oracle objected; else a line with the objection, then the plan and
 *     the last events
 */
public record SwarmOutcome(
        long seed,
        Canary canary,
        long hash,
        long events,
        long messages,
        long payloadBytes,
        long simulatedPs,
        String failure) {

    public boolean isClean() {
        return failure.isEmpty();
    }

    /** The first line of the failure. */
    public String objection() {
        int end = failure.indexOf('\n');
        return end < 0 ? failure : failure.substring(0, end);
    }

    /** The command that does the same again. */
    public String replay() {
        String bug = canary == Canary.NONE ? "" : " --canary";
        return "metaroce swarm --seeds 1 --first-seed " + seed + bug;
    }
}
