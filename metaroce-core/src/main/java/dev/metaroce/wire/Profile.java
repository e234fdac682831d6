package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** What a receive context holds, agreed per lease. */
public enum Profile {
    /** One path, Go-Back-N, cumulative acknowledgements. */
    S(1),
    /** Many paths with 256-bit selective acknowledgements. */
    M(2);

    private static final @Nullable Profile[] BY_CODE = new Profile[4];

    static {
        for (Profile profile : values()) {
            BY_CODE[profile.code] = profile;
        }
    }

    private final int code;

    Profile(int code) {
        this.code = code;
    }

    /** The value on the wire, which is also its bit in a profile mask. */
    public int code() {
        return code;
    }

    /** The most capable profile of a mask, or null when it has none that this version knows. */
    public static @Nullable Profile best(int mask) {
        return (mask & M.code) != 0 ? M : (mask & S.code) != 0 ? S : null;
    }

    /** The profile with this code, or null for every code this version does not know. */
    public static @Nullable Profile of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
