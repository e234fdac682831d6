package dev.metaroce.tools.demo;

import dev.metaroce.memory.RegionDescriptor;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * What the receiver of the demo says to the sender.
 *
 * @param region where to write to; in the first message
 * @param sha256 of the memory written to; in the second message
 * @param contextsPeak most context ids in use at one time
 */
record DemoMessage(
        @Nullable RegionDescriptor region,
        @Nullable String sha256,
        int contexts,
        int contextsPeak,
        long contextTableBytes,
        Map<String, Long> counters) {

    /** The service id of the demo receiver: "demo". */
    static final long SERVICE = 0x6465_6D6FL;
}
