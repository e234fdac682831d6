package dev.metaroce.sim.swarm;

import java.io.Serial;

/** What an oracle says when something is not as it has to be. */
final class Objection extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    Objection(String message) {
        super(message);
    }
}
