package dev.metaroce.tools.demo;

import dev.metaroce.transport.DeviceLimits;

import java.util.Map;

/**
 * What the receiver of the demo answers when the whole file is in its memory. Where that memory is,
 * the sender knows from the private data of the acceptance.
 *
 * @param sha256 of the memory written to
 * @param contextsPeak most context ids in use at one time
 */
record DemoMessage(
        String sha256,
        int contexts,
        int contextsPeak,
        long contextTableBytes,
        Map<String, Long> counters) {

    /** The service id of the demo receiver: "demo". */
    static final long SERVICE = 0x6465_6D6FL;

    /** Longer than usual: two programs that have just started are slow for a moment. */
    private static final long LINGER_NS = 100_000_000;

    private static final long GRANT_UNUSED_NS = 1_000_000_000;

    /** Limits of both ends of the demo. */
    static DeviceLimits limits() {
        return DeviceLimits.defaults().toBuilder()
                .lingerNs(LINGER_NS)
                .grantUnusedNs(GRANT_UNUSED_NS)
                .build();
    }
}
