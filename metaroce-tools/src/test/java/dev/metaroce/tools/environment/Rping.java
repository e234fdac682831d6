package dev.metaroce.tools.environment;

import static java.nio.ByteOrder.BIG_ENDIAN;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.Transport;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ConnectionRequest;
import dev.metaroce.verbs.Listener;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The other end of {@code rping} of rdma_cm: the client tells where its text is, the server READs
 * it; the client tells where there is room, the server WRITEs the text there, and the client
 * compares. What they tell is a SEND of address, key and length; the server's answers say nothing.
 *
 * <pre>
 *   Rping serve HERE               one client
 *   Rping dial HERE THERE COUNT    exit code 1 when another text comes back
 * </pre>
 */
final class Rping implements AutoCloseable {
    private static final int SERVICE = 7174;
    private static final int MTU = 1024;
    private static final long PATIENCE_NS = 30_000_000_000L;
    private static final ValueLayout.OfLong ADDRESS =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(BIG_ENDIAN);
    private static final ValueLayout.OfInt NUMBER =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(BIG_ENDIAN);
    private static final int TOLD_BYTES = 16;

    /** Where things are in our memory: what is told, what was told, the text, room for it. */
    private static final int TELL = 0;

    private static final int TOLD = 64;
    private static final int TEXT = 128;
    private static final int ROOM = 4096;
    private static final int BYTES = 8192;

    /** Longer than the path MTU, and no multiple of anything. */
    private static final int TEXT_BYTES = 2501;

    private final UdpDevice device;
    private final ProtectionDomain domain;
    private final CompletionQueue sent;
    private final CompletionQueue received;
    private final MemoryRegion region;
    private final WorkCompletion completion = new WorkCompletion();

    private Rping(String here) {
        DeviceOptions.Builder options = DeviceOptions.builder().transport(Transport.ROCE_V2);
        device = UdpDevice.open(options.bind(here).payloadMtu(MTU).build());
        domain = device.rdma().allocProtectionDomain();
        sent = device.rdma().createCompletionQueue(16);
        received = device.rdma().createCompletionQueue(16);
        region = domain.register(Arena.ofAuto().allocate(BYTES, 8), Access.ALL);
    }

    public static void main(String[] arguments) {
        try (Rping rping = new Rping(arguments[1])) {
            if (arguments[0].equals("serve")) {
                rping.serve();
            } else {
                rping.dial(arguments[2], Integer.parseInt(arguments[3]));
            }
        }
    }

    private void serve() {
        try (Listener listener = device.rdma().listen(SERVICE, 1)) {
            System.out.println("listening");
            ConnectionRequest request = listener.accept(PATIENCE_NS);
            if (request == null) {
                throw new IllegalStateException("nobody came");
            }
            QueuePair pair = pairOf(request.connection());
            request.accept();
            int turns = 0;
            while (heard(pair)) {
                MemorySegment memory = region.segment();
                long address = memory.get(ADDRESS, TOLD);
                int key = memory.get(NUMBER, TOLD + 8);
                int bytes = memory.get(NUMBER, TOLD + 12);
                if (turns % 2 == 0) {
                    pair.postRead(1, region, TEXT, bytes, address, key);
                } else {
                    pair.postWrite(1, region, TEXT, bytes, address, key);
                }
                await(sent);
                // The client goes on as soon as it hears, and tells more.
                listen(pair);
                pair.postSend(2, region, TELL, TOLD_BYTES);
                await(sent);
                turns++;
            }
            request.connection().close();
            device.rdma().awaitClosed(request.connection(), PATIENCE_NS);
            System.out.println("served " + turns / 2);
        }
    }

    private void dial(String there, int count) {
        Connection connection =
                device.rdma().connect(UdpDevice.resolve(there, 4791), SERVICE, new byte[0]);
        QueuePair pair = pairOf(connection);
        connection.awaitOpen(PATIENCE_NS);
        MemorySegment memory = region.segment();
        for (int i = 0; i < count; i++) {
            for (int at = 0; at < TEXT_BYTES; at++) {
                memory.set(ValueLayout.JAVA_BYTE, TEXT + at, (byte) ('a' + (i + at) % 26));
            }
            memory.asSlice(ROOM, TEXT_BYTES).fill((byte) 0);
            tell(pair, TEXT);
            tell(pair, ROOM);
            long differs =
                    memory.asSlice(ROOM, TEXT_BYTES).mismatch(memory.asSlice(TEXT, TEXT_BYTES));
            if (differs >= 0) {
                throw new IllegalStateException("another text came back, from byte " + differs);
            }
        }
        connection.close();
        device.rdma().awaitClosed(connection, PATIENCE_NS);
        System.out.println("equal " + count + ", " + connection.state());
    }

    /** Says where something is, and waits until the other end has dealt with it. */
    private void tell(QueuePair pair, int where) {
        MemorySegment memory = region.segment();
        memory.set(ADDRESS, TELL, region.address() + where);
        memory.set(NUMBER, TELL + 8, region.rkey());
        memory.set(NUMBER, TELL + 12, TEXT_BYTES);
        pair.postSend(2, region, TELL, TOLD_BYTES);
        await(sent);
        if (!heard(pair)) {
            throw new IllegalStateException("the server ended");
        }
        listen(pair);
    }

    private QueuePair pairOf(Connection connection) {
        QueuePair pair = connection.createQueuePair(domain, sent, received, 8, 8);
        listen(pair);
        return pair;
    }

    private void listen(QueuePair pair) {
        pair.postReceive(3, region, TOLD, TOLD_BYTES);
    }

    private void await(CompletionQueue queue) {
        if (!queue.await(completion, PATIENCE_NS) || completion.status() != WcStatus.SUCCESS) {
            throw new IllegalStateException("no success: " + completion.status());
        }
    }

    /** Waits for what the other end says; false when the connection ended instead. */
    private boolean heard(QueuePair pair) {
        if (!received.await(completion, PATIENCE_NS)) {
            throw new IllegalStateException("silence of " + pair.connection().peer());
        }
        return completion.status() == WcStatus.SUCCESS;
    }

    @Override
    public void close() {
        device.close();
    }
}
