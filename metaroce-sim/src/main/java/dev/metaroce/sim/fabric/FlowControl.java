package dev.metaroce.sim.fabric;

/** How the senders of lossless classes are kept from sending too much. */
public sealed interface FlowControl permits Pfc, Credits {
    /**
     * A port of a switch that is stopped for so many picoseconds is looked at: a circle of such
     * ports that wait for each other is a deadlock; 0: never.
     */
    long stuckAfterPs();

    /**
     * The watchdog: what waits at a port that is stuck is dropped, and what comes, until it may
     * send again.
     */
    boolean drainStuck();
}
