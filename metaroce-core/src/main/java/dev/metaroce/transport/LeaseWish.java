package dev.metaroce.transport;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.util.ReadyList;

import org.jspecify.annotations.Nullable;

/**
 * What a connection keeps as initiator while it wants a lease or has one, and nothing of it in
 * between. Owner: the engine thread.
 */
final class LeaseWish {
    /** How often the present REQUEST, RELEASE or DISCONNECT was sent. */
    int attempts;

    /** What a crowded target wants to see again; 0 for nothing. */
    long cookie;

    /** When the present request was sent last. */
    long askedNs;

    /** Since when a lease is wanted and refused; a place in line is no refusal. */
    long wantedNs;

    /** From the latest copy of the present request to its first answer; 0 before that. */
    long answeredNs;

    /** When to send again. */
    long retryNs;

    /** Since when the lease has carried nothing. */
    long idleSinceNs;

    /** How long connecting may take in all, in nanoseconds; 0 for as long as the peer answers. */
    long connectNs;

    /** When that is over. */
    long connectEndNs;

    /** The reasons why a context was denied so far, a bit for each code. */
    int denials;

    /** The stream whose oldest message rides in the present request; null for none. */
    @Nullable Stream earlyStream;

    /** That message. */
    long earlySeq;

    // A request whose local memory was gone when its packet was made
    @Nullable Stream faultedStream;
    long faultedSeq;
    WcStatus faultedStatus = WcStatus.SUCCESS;

    /** Streams that may have packets. */
    final ReadyList<Stream> readyStreams = new ReadyList<>();
}
