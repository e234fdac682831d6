package dev.metaroce.tools.perf;

import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.MessageChannel;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;

/**
 * One end of a connection whose other end is a perf of ours: the two talk over a message channel.
 * The client has one per initiator, the server one per connection; what both do alike is here.
 */
final class Peer extends PerfEnd {
    final MessageChannel channel;

    /** Where the other end's memory is, from its last message. */
    @Nullable RegionDescriptor remote;

    private Peer(RdmaDevice device, Connection connection, PerfParameters parameters) {
        // The channel has the first queue pair of the connection, here and there.
        ProtectionDomain domain = device.allocProtectionDomain();
        MessageChannel first = new MessageChannel(device, connection, domain, Arena.ofAuto());
        super(device, connection, domain, parameters);
        channel = first;
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

    RegionDescriptor remote() {
        if (remote == null) {
            throw new IllegalStateException("remote() before the peer told it");
        }
        return remote;
    }

    @Override
    long targetOf(int pair) {
        long slot = pair % parameters.slots();
        return remote().address() + slot * parameters.maxMessageBytes();
    }

    @Override
    int rkeyOf(int pair) {
        return remote().rkey();
    }

    /** Clears what a READ test is going to bring. */
    void forgetRead() {
        if (parameters.test().isRead()) {
            source().segment().fill((byte) 0);
        }
    }

    /** True when the last message of a READ test is what the other end has. */
    boolean hasRead(long messageBytes) {
        return Pattern.matches(source().segment(), 0, 0, messageBytes, parameters.seed());
    }

    @Override
    public void close() {
        channel.close();
        super.close();
    }
}
