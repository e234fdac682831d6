package dev.metaroce.ring;

/** Is told when a shared receive queue runs low. */
@FunctionalInterface
public interface LimitListener {
    /** Engine thread; must not block. Fewer receives are left than the armed limit. */
    void onLimitReached();
}
