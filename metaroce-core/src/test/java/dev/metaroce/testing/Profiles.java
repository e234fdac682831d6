package dev.metaroce.testing;

import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.Profile;

/** Limits of test devices, by profile. */
public final class Profiles {
    private Profiles() {}

    /** The defaults, offering this profile alone. */
    public static DeviceLimits.Builder only(Profile profile) {
        return DeviceLimits.defaults().toBuilder().profiles(profile.code());
    }
}
