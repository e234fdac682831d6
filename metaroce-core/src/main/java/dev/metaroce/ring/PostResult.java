package dev.metaroce.ring;

/** Answer to a post: a value, never a blocked thread. */
public enum PostResult {
    OK,
    /**
     * As many work requests are outstanding as the queue is deep. Poll the completion queue: slots
     * come back when a completion of this queue pair is polled (an unsignalled request gives its
     * slot back with the next signalled one). An unsignalled request finds the queue full one slot
     * early, so that there is always room for one that is signalled.
     */
    QUEUE_FULL
}
