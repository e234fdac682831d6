package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;

import java.util.function.BooleanSupplier;

/**
 * A simulation that ran to its end, or was stopped, and what it delivered.
 *
 * @param ended false: flows were open when it stopped
 * @param bytes payload that arrived, of all flows
 * @param lastPs the last completion; where it was stopped, when it was
 * @param resent data packets sent again
 * @param sentPerNeeded data packets sent, per packet of the payload
 */
record Delivery(boolean ended, long bytes, long lastPs, long resent, double sentPerNeeded) {
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /**
     * Runs all flows.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    static Delivery of(Simulation simulation, BooleanSupplier mayGoOn) {
        Simulation.Stop stop = Simulation.Stop.EVENTS_DONE;
        while (stop == Simulation.Stop.EVENTS_DONE && mayGoOn.getAsBoolean()) {
            stop = simulation.advance(EVENTS_PER_LOOK);
        }
        boolean ended = stop == Simulation.Stop.ALL_ENDED;
        Flows flows = simulation.flows();
        long bytes = 0;
        long lastPs = ended ? 0 : simulation.nowPs();
        for (int flow = 0; flow < flows.count(); flow++) {
            bytes += flows.bytes(flow) - simulation.missingBytes(flow);
            if (!flows.isOpen(flow)) {
                lastPs = Math.max(lastPs, flows.endPs(flow));
            }
        }
        long needed = Summary.sum(simulation, CounterId.DATA_SENT);
        long resent = Summary.sum(simulation, CounterId.DATA_RESENT);
        return new Delivery(ended, bytes, lastPs, resent, (double) (needed + resent) / needed);
    }

    double gbps() {
        return Summary.gbps(bytes, lastPs);
    }
}
