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
import java.lang.foreign.ValueLayout;

/**
 * One end of a connection whose other end is a perf of ours: the two talk over a message channel.
 * The client has one per initiator, the server one per connection; what both do alike is here.
 */
final class Peer extends PerfEnd {
    /** Bytes of -1: the word before the first that an atomic can bring, as words start at 0. */
    private static final byte NONE_FETCHED = -1;

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

    /** Clears what a READ, or an atomic, is going to bring. */
    void forgetPulled() {
        if (parameters.test().isPull()) {
            source().segment().fill(parameters.test().isAtomic() ? NONE_FETCHED : (byte) 0);
        }
    }

    /** How many atomics the words tell of that the last ones of all queue pairs brought. */
    long fetched() {
        long count = 0;
        for (int q = 0; q < pairs.length; q++) {
            count += source().segment().getAtIndex(ValueLayout.JAVA_LONG, q) + 1;
        }
        return count;
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
