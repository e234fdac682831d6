package dev.metaroce.tools.link;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.Reachability;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.verbs.Connection;

/** Words for work that failed: what, with which peer, why. */
public final class LinkFailure {
    private LinkFailure() {}

    /**
     * Why a connection failed, empty when it did not; of a peer that went silent also what is to be
     * seen of it now.
     */
    public static String reasonOf(Connection connection) {
        String failure = connection.failure();
        // As MetaRoCE says it, and as RoCEv2 does.
        return failure.contains("went silent") || failure.contains("no answer to PSN")
                ? failure
                        + "; "
                        + Reachability.whySilent(Addresses.toSocketAddress(connection.peer()))
                : failure;
    }

    /** What a failed completion means for the user. */
    public static ToolException of(Connection connection, String what, WorkCompletion completion) {
        String why = reasonOf(connection);
        return ToolException.failed(
                "%s with %s ended with %s%s"
                        .formatted(
                                what,
                                connection.peer(),
                                completion.status(),
                                why.isEmpty() ? "" : ": " + why));
    }
}
