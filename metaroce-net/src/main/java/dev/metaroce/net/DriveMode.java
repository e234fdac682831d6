package dev.metaroce.net;

/** Who moves a device's engine. */
public enum DriveMode {
    /** A daemon thread of the device; the application only posts and polls. */
    THREAD,
    /** The application's own thread, by {@code RdmaDevice.progress()} and {@code await}. */
    INLINE
}
