package dev.metaroce.transport;

/** What has a sequence of packet numbers of its own. */
public enum SequenceSpace {
    /** Each path, which keeps its order. */
    PATH,

    /**
     * The lease: it has one path, whose packets take as many routes in turn as there would be
     * paths. They overtake each other wherever ways are not equally long.
     */
    LEASE
}
