package dev.metaroce.tools.perf;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The receiving half of a bandwidth test at one end of a connection: the memory that messages land
 * in, the receives of a SEND test, and the comparison with the test data afterwards. No method
 * blocks; the owner of the {@link PerfEnd} calls.
 */
final class Landing {
    private static final long CHECK_BYTES = 1 << 20;
    private static final int COMPLETIONS = 64;

    private final PerfEnd peer;
    private final PerfParameters parameters;
    private final WorkCompletion[] completions = new WorkCompletion[COMPLETIONS];
    private long received;

    /**
     * Allocates the memory and, for SEND, posts the receives, which stay posted from row to row.
     */
    Landing(PerfEnd peer) {
        this.peer = peer;
        parameters = peer.parameters;
        Arrays.setAll(completions, i -> new WorkCompletion());
        peer.allocateLanding();
        if (parameters.test().isSend()) {
            boolean shares = parameters.sharedReceives();
            int depth = shares ? parameters.sharedDepth() : parameters.receiveDepth();
            for (int i = 0; i < depth; i++) {
                for (int q = 0; q < (shares ? 1 : parameters.qps()); q++) {
                    peer.postReceive(q);
                }
            }
        }
    }

    /**
     * Forgets earlier rows, so that intact data at the end can only come from the next one. Memory
     * that is read from has the test data instead.
     */
    void prepare(long messageBytes) {
        long stride = parameters.maxMessageBytes();
        MemorySegment memory = peer.landing().segment();
        for (int slot = 0; slot < parameters.slots(); slot++) {
            if (parameters.test().isRead()) {
                Pattern.fill(memory, slot * stride, messageBytes, parameters.seed());
            } else {
                memory.asSlice(slot * stride, messageBytes).fill((byte) 0);
            }
        }
    }

    /** Posts a receive for each one that a message consumed; true when there was any. */
    boolean repost() {
        boolean any = false;
        int n = peer.receives.poll(completions);
        while (n > 0 && !peer.hasEnded()) {
            for (int i = 0; i < n; i++) {
                if (completions[i].status() != WcStatus.SUCCESS) {
                    throw peer.failure("receive after " + received + " messages", completions[i]);
                }
                peer.postReceive((int) completions[i].wrId());
            }
            received += n;
            any = true;
            n = peer.receives.poll(completions);
        }
        return any;
    }

    /** Looks at a MiB at a time: the device must answer its peers meanwhile. */
    boolean isIntact(long messageBytes) {
        MemorySegment memory = peer.landing().segment();
        for (int slot = 0; slot < parameters.slots(); slot++) {
            long base = slot * parameters.maxMessageBytes();
            for (long at = 0; at < messageBytes; at += CHECK_BYTES) {
                long bytes = Math.min(CHECK_BYTES, messageBytes - at);
                if (!Pattern.matches(memory, base, at, bytes, parameters.seed())) {
                    return false;
                }
                peer.device.progress();
            }
        }
        return true;
    }
}
