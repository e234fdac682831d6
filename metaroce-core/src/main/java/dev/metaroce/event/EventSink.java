package dev.metaroce.event;

/** Receives an engine's events on the engine's thread; must not block, and must not keep time. */
@FunctionalInterface
public interface EventSink {
    /** Discards everything. */
    EventSink NONE = (nowNs, id, a, b, c) -> {};

    void onEvent(long nowNs, EventId id, long a, long b, long c);
}
