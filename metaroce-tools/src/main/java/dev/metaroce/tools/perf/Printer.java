package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;

import picocli.CommandLine.Model.CommandSpec;

import tools.jackson.databind.node.ObjectNode;

/** Where a perf command says what: its words, its notes, its document. */
record Printer(CommandSpec spec) {
    String command() {
        return spec.qualifiedName();
    }

    Terminal out() {
        return Terminal.of(spec.commandLine().getOut());
    }

    /** For words beside a document, which has standard output for itself. */
    Terminal err() {
        return new Terminal(spec.commandLine().getErr(), false);
    }

    /** One line for what is not as asked, or not as good as it could be. */
    void note(String text) {
        err().line("%s: note: %s", command(), text);
    }

    void document(ObjectNode document) {
        out().line(Json.pretty(document));
    }

    /** The document as one line of several. */
    void documentLine(ObjectNode document) {
        out().line(Json.COMPACT.writeValueAsString(document));
    }
}
