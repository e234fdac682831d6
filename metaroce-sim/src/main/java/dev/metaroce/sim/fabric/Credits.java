package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;

/**
 * Flow control by credit, as InfiniBand has it: a switch keeps a buffer for each link and lossless
 * class, and the sender may send only what it knows to fit. As packets leave the switch their room
 * is told to the sender, which hears of it when it has come along the cable.
 *
 * @param bufferBytes of each link and lossless class; 0: as much as keeps the link busy
 */
public record Credits(int bufferBytes, long stuckAfterPs, boolean drainStuck)
        implements FlowControl {
    public Credits {
        if (bufferBytes < 0 || stuckAfterPs < 0) {
            throw new ConfigException(
                    "credits: buffer %d, stuck after %d must not be negative"
                            .formatted(bufferBytes, stuckAfterPs));
        }
    }

    public static Credits defaults() {
        return new Credits(0, 1_000_000_000L, false);
    }

    public Credits withBuffer(int bytes) {
        return new Credits(bytes, stuckAfterPs, drainStuck);
    }
}
