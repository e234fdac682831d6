package dev.metaroce.tools.cli;

import tools.jackson.databind.node.ObjectNode;

/** A command that can print one JSON document instead of text, also when it fails. */
public interface JsonReporter {
    /** True when standard output gets one JSON document and nothing else. */
    boolean json();

    /** What is known so far; the caller adds the error and prints it. */
    ObjectNode document();
}
