package dev.metaroce.transport;

/** Which way a packet takes that is sent again, under the same path and PSN. */
public enum ResendRoute {
    /** That of its path, so that it stays in the order of the path. */
    SAME_PATH,

    /** That of the next path of the lease. */
    OTHER_PATH
}
