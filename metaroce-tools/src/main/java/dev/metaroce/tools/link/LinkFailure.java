package dev.metaroce.tools.link;

import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.verbs.Connection;

/** Words for work that failed: what, with which peer, why. */
public final class LinkFailure {
    private LinkFailure() {}

    /** What a failed completion means for the user. */
    public static ToolException of(Connection connection, String what, WorkCompletion completion) {
        String failure = connection.failure();
        String reason = failure.isEmpty() ? "" : ": " + failure;
        return ToolException.failed(
                "%s with %s ended with %s%s"
                        .formatted(what, connection.peer(), completion.status(), reason));
    }
}
