package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;

import tools.jackson.databind.node.ObjectNode;

/** One direction of a bandwidth test in a row, or the total of both. */
record Direction(BandwidthRow figures, Traffic traffic) {
    ObjectNode document() {
        ObjectNode document = Json.tree(figures);
        document.setAll(Json.tree(traffic));
        return document;
    }
}
