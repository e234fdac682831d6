package dev.metaroce.wire.roce;

import org.jspecify.annotations.Nullable;

/** What a responder refuses, as a {@link Syndrome}; all but the first end the queue pair. */
public enum RoceNak {
    /** A packet is missing before this one. */
    PSN_SEQUENCE(0x60),
    /** An operation that the queue pair does not take, or of a length that it cannot have. */
    INVALID_REQUEST(0x61),
    /** The key, the range or the rights are wrong. */
    REMOTE_ACCESS(0x62),
    /** The responder cannot do it for reasons of its own. */
    REMOTE_OPERATIONAL(0x63);

    private static final @Nullable RoceNak[] BY_CODE = new RoceNak[256];

    static {
        for (RoceNak nak : values()) {
            BY_CODE[nak.syndrome] = nak;
        }
    }

    private final int syndrome;

    RoceNak(int syndrome) {
        this.syndrome = syndrome;
    }

    /** The value in an {@link Aeth}, 0x60..0x63. */
    public int syndrome() {
        return syndrome;
    }

    /** The refusal with this syndrome, or null for every syndrome that is none. */
    public static @Nullable RoceNak of(int syndrome) {
        return BY_CODE[syndrome & 0xFF];
    }
}
