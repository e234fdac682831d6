package dev.metaroce.tools.perf;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.tools.link.MessageChannel;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One end of one connection of a perf run: its queue pairs, its memory, its message channel. The
 * client has one per initiator, the server one per connection; what both do alike is here. Used by
 * one thread, except that the server makes it on the engine's thread.
 */
final class Peer implements AutoCloseable {
    final RdmaDevice device;
    final Connection connection;
    final PerfParameters parameters;
    final MessageChannel channel;
    final QueuePair[] pairs;
    final CompletionQueue sends;
    final CompletionQueue receives;
    private final Arena arena = Arena.ofAuto();
    private final ProtectionDomain domain;
    private @Nullable MemoryRegion source;
    private @Nullable MemoryRegion landing;

    /** Where the other end's memory is, from its last message. */
    @Nullable RegionDescriptor remote;

    private Peer(RdmaDevice device, Connection connection, PerfParameters parameters) {
        this.device = device;
        this.connection = connection;
        this.parameters = parameters;
        domain = device.allocProtectionDomain();
        channel = new MessageChannel(device, connection, domain, arena);
        // The last place of a send queue is kept for a request with a completion.
        int sendDepth = sendDepth(parameters) + 1;
        int receiveDepth = parameters.receiveDepth();
        sends = device.createCompletionQueue(parameters.qps() * sendDepth);
        receives = device.createCompletionQueue(parameters.qps() * receiveDepth);
        pairs = new QueuePair[parameters.qps()];
        for (int i = 0; i < pairs.length; i++) {
            pairs[i] = connection.createQueuePair(domain, sends, receives, sendDepth, receiveDepth);
        }
    }

    /** Latency tests rotate through a few send buffers, so that none is touched while in flight. */
    static int sendDepth(PerfParameters parameters) {
        return parameters.test().isLatency() ? PingPong.SLOTS : parameters.posting().depth();
    }

    /** Starts to connect; the caller waits for {@link #isOpen}. */
    static Peer dial(Endpoint endpoint, NetAddress target, PerfParameters parameters) {
        RdmaDevice device = endpoint.rdma();
        Connection connection = device.connect(target, PerfParameters.SERVICE, parameters.encode());
        return new Peer(device, connection, parameters);
    }

    /** The answering end; on the engine's thread, before the connection is accepted. */
    static Peer accept(RdmaDevice device, Connection connection, PerfParameters parameters) {
        return new Peer(device, connection, parameters);
    }

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

    /** The test data of the longest message as the source, if there is none yet. */
    void fillSource() {
        if (source == null) {
            long bytes = parameters.maxMessageBytes();
            MemorySegment segment = allocate(bytes);
            Pattern.fill(segment, 0, bytes, parameters.seed());
            source(segment);
        }
    }

    /** Registers the memory that the other end's messages land in. */
    void landing(MemorySegment segment) {
        landing = domain.register(segment, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
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

    RegionDescriptor remote() {
        if (remote == null) {
            throw new IllegalStateException("remote() before the peer told it");
        }
        return remote;
    }

    /** Ends the run with the connection's own words about what went wrong. */
    ToolException failure(String what, WorkCompletion completion) {
        return LinkFailure.of(connection, what, completion);
    }

    /** Takes the memory back from the device. */
    @Override
    public void close() {
        channel.close();
        if (source != null) {
            source.close();
        }
        if (landing != null) {
            landing.close();
        }
    }
}
