package dev.metaroce.ring;

/** Is told what happens to shared receives; engine thread, must not block. */
public interface SharedReceivesListener {
    /** A message took a receive. */
    void onTaken();

    /** Fewer receives are left than the armed limit. */
    void onLimitReached();
}
