package dev.metaroce.sim.run;

import dev.metaroce.event.EventSink;
import dev.metaroce.transport.DeviceLimits;

/**
 * What the hosts of a simulation do besides flows. Called on the simulation's thread; does nothing
 * unless told to.
 */
public interface Application {
    /** Does nothing: flows are all there is. */
    Application NONE = new Application() {};

    /** An engine took something in: completions may wait, and what is posted now is sent next. */
    default void onTurn(int host) {}

    /** Something that {@link Simulation#schedule} was asked for is due. */
    default void onEvent(int number) {}

    /**
     * A packet reached a host. False keeps it from the engine; the application then passes it on
     * with {@link Simulation#arrive}.
     */
    default boolean onArrival(int host, int packet) {
        return true;
    }

    /**
     * What a host is limited by, when that is not what is common to all; asked for before the first
     * event. The payload MTU must be the common one.
     */
    default DeviceLimits limits(int host, DeviceLimits common) {
        return common;
    }

    /**
     * The traffic class that a host sends its data in, when that is not what is common to all;
     * asked for before the first event.
     */
    default int dataClass(int host, int common) {
        return common;
    }

    /** Receives what the engine of a host reports; asked for whenever one starts. */
    default EventSink events(int host) {
        return EventSink.NONE;
    }
}
