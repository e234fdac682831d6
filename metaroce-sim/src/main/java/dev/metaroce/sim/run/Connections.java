package dev.metaroce.sim.run;

/** When flows have connections. */
public enum Connections {
    /**
     * Those of flows that start at time 0 hold a lease by then, as in an application that has been
     * running, and as in simulators whose flows need none; others are made by their first flow. A
     * destination with more such sources than it has contexts is left as with {@link #COLD}.
     */
    WARM,

    /** The first flow makes a connection, and waits for it; it is kept. */
    COLD,

    /** The first flow makes a connection; it is closed when it has nothing left to send. */
    CLOSE
}
