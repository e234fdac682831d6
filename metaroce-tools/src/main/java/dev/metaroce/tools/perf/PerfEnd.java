package dev.metaroce.tools.perf;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.verbs.ReceiveRequest;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.verbs.SharedReceiveQueue;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One end of one connection of a perf run: its queue pairs and its memory. How it comes to know the
 * other end's memory is up to its kind. Used by one thread, except that a server may make it on the
 * engine's thread.
 */
abstract class PerfEnd implements AutoCloseable {
    final RdmaDevice device;
    final Connection connection;
    final PerfParameters parameters;
    final QueuePair[] pairs;
    final CompletionQueue sends;
    final CompletionQueue receives;
    private final ProtectionDomain domain;
    private final Arena arena = Arena.ofAuto();
    private @Nullable MemoryRegion source;
    private @Nullable MemoryRegion landing;
    private final SendRequest request = new SendRequest();
    private final ReceiveRequest receive = new ReceiveRequest();
    private @Nullable SharedReceiveQueue shared;

    PerfEnd(
            RdmaDevice device,
            Connection connection,
            ProtectionDomain domain,
            PerfParameters parameters) {
        this.device = device;
        this.connection = connection;
        this.domain = domain;
        this.parameters = parameters;
        // The last place of a send queue is kept for a request with a completion.
        int sendDepth = sendDepth(parameters) + 1;
        int receiveDepth = parameters.receiveDepth();
        sends = device.createCompletionQueue(parameters.qps() * sendDepth);
        boolean shares = parameters.sharedReceives();
        int depths = shares ? parameters.sharedDepth() : parameters.qps() * receiveDepth;
        receives = device.createCompletionQueue(depths);
        QueuePairOptions.Builder options = QueuePairOptions.of(sends, receives);
        options.sendDepth(sendDepth).receiveDepth(receiveDepth);
        if (shares) {
            shared = device.createSharedReceiveQueue(domain, depths, 1, 0);
            options.sharedReceiveQueue(shared);
        }
        pairs = new QueuePair[parameters.qps()];
        for (int i = 0; i < pairs.length; i++) {
            pairs[i] = connection.createQueuePair(domain, options.build());
        }
    }

    /** Posts a receive for a message to this queue pair, or to any if they share them. */
    void postReceive(int q) {
        long bytes = parameters.maxMessageBytes();
        receive.wrId(q).local(landing(), q % parameters.slots() * bytes, bytes);
        SharedReceiveQueue all = shared;
        PostResult result = all == null ? pairs[q].post(receive) : all.post(receive);
        if (result != PostResult.OK) {
            throw new IllegalStateException("receive queue full");
        }
    }

    /** Latency tests rotate through a few send buffers, so that none is touched while in flight. */
    static int sendDepth(PerfParameters parameters) {
        return parameters.test().isLatency() ? PingPong.SLOTS : parameters.posting().depth();
    }

    /** Where the messages of a queue pair go in the other end's memory. */
    abstract long targetOf(int pair);

    /** The key of that memory. */
    abstract int rkeyOf(int pair);

    boolean isOpen() {
        return connection.state() == ConnectionState.OPEN;
    }

    boolean hasEnded() {
        ConnectionState state = connection.state();
        return state == ConnectionState.CLOSED || state == ConnectionState.FAILED;
    }

    /** Zeroed memory for this end. */
    MemorySegment allocate(long bytes) {
        try {
            return arena.allocate(bytes, 64);
        } catch (OutOfMemoryError e) {
            throw ToolException.environment(
                    "no memory for %,d bytes of message buffers (%s): use a smaller -s or -q"
                            .formatted(bytes, e.getMessage()));
        }
    }

    /** Registers the memory that messages are sent from; several peers may share it. */
    void source(MemorySegment segment) {
        source = domain.register(segment, Access.LOCAL_WRITE);
    }

    /**
     * The test data of the longest message as the source, if there is none yet; nothing but room
     * for it when it is to be read from the other end, and a word for each queue pair when that is
     * where the answers of atomics go.
     */
    void fillSource() {
        if (source == null) {
            long bytes =
                    parameters.test().isAtomic()
                            ? (long) pairs.length * Long.BYTES
                            : parameters.maxMessageBytes();
            MemorySegment segment = allocate(bytes);
            if (!parameters.test().isPull()) {
                Pattern.fill(segment, 0, bytes, parameters.seed());
            }
            source(segment);
        }
    }

    /**
     * Posts one message of the test.
     *
     * @param q number of the queue pair
     * @param signalled false to get a completion only in case of an error
     */
    void post(int q, long wrId, long messageBytes, boolean signalled) {
        PerfTest test = parameters.test();
        long offset = test.isAtomic() ? (long) q * Long.BYTES : 0;
        request.wrId(wrId).local(source(), offset, messageBytes).signaled(signalled);
        if (test.isSend()) {
            request.send();
        } else if (test.isRead()) {
            request.read(targetOf(q), rkeyOf(q));
        } else if (test.isAtomic()) {
            request.fetchAndAdd(targetOf(q), rkeyOf(q), 1);
        } else {
            request.write(targetOf(q), rkeyOf(q));
        }
        if (pairs[q].post(request) != PostResult.OK) {
            throw new IllegalStateException("send queue full below its depth");
        }
    }

    /** Memory for a message of each queue pair to land in. */
    void allocateLanding() {
        landing(allocate(parameters.slots() * parameters.maxMessageBytes()));
    }

    /** Registers the memory that the other end's messages land in, and that it may read. */
    void landing(MemorySegment segment) {
        landing = domain.register(segment, Access.ALL);
    }

    boolean hasMemory() {
        return source != null || landing != null;
    }

    MemoryRegion source() {
        if (source == null) {
            throw new IllegalStateException("this end sends nothing");
        }
        return source;
    }

    boolean hasLanding() {
        return landing != null;
    }

    MemoryRegion landing() {
        if (landing == null) {
            throw new IllegalStateException("nothing lands at this end");
        }
        return landing;
    }

    /** Ends the run with the connection's own words about what went wrong. */
    ToolException failure(String what, WorkCompletion completion) {
        return LinkFailure.of(connection, what, completion);
    }

    /** Takes the memory back from the device. */
    @Override
    public void close() {
        if (source != null) {
            source.close();
        }
        if (landing != null) {
            landing.close();
        }
    }
}
