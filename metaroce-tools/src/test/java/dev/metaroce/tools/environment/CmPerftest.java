package dev.metaroce.tools.environment;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
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
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The other end of perftest's bandwidth programs with {@code -R}, one queue pair: two connections
 * of rdma_cm, the first of which takes the place of TCP, a SEND for each message, with keys of
 * {@value #KEYS} bytes in binary. The second one is for the test.
 *
 * <pre>
 *   CmPerftest serve HERE                            one client
 *   CmPerftest dial HERE THERE write|read|send N     N messages
 * </pre>
 */
final class CmPerftest implements AutoCloseable {
    private static final int SERVICE = 18_515;
    private static final long PATIENCE_NS = 30_000_000_000L;
    private static final int KEYS = 56;
    private static final int VERSION_BYTES = 16;
    private static final int FIGURE_BYTES = 8;
    private static final int FIGURES = 5;
    private static final int RKEY_AT = 16;
    private static final int ADDRESS_AT = 24;

    /** Where things are in our memory: what is told, what was told, and the messages. */
    private static final int TELL = 0;

    private static final int TOLD = 64;
    private static final int ROOM = 4096;
    private static final int MESSAGE_BYTES = 5000;
    private static final int BYTES = 3 * ROOM;
    private static final int DEPTH = 32;

    private final UdpDevice device;
    private final ProtectionDomain domain;
    private final CompletionQueue sent;
    private final CompletionQueue told;
    private final CompletionQueue received;
    private final MemoryRegion region;
    private final WorkCompletion completion = new WorkCompletion();

    private CmPerftest(String here) {
        device = PatientDevice.open(here);
        domain = device.rdma().allocProtectionDomain();
        sent = device.rdma().createCompletionQueue(4 * DEPTH);
        told = device.rdma().createCompletionQueue(DEPTH);
        received = device.rdma().createCompletionQueue(DEPTH);
        region = domain.register(Arena.ofAuto().allocate(BYTES, 8), Access.ALL);
    }

    public static void main(String[] words) {
        try (CmPerftest end = new CmPerftest(words[1])) {
            if (words[0].equals("serve")) {
                end.serve();
            } else {
                end.dial(words[2], words[3], Integer.parseInt(words[4]));
            }
        }
    }

    private QueuePair talking(Connection connection) {
        QueuePair pair = connection.createQueuePair(domain, sent, told, 4, 4);
        listen(pair);
        return pair;
    }

    private QueuePair testing(Connection connection) {
        QueuePair pair = connection.createQueuePair(domain, sent, received, DEPTH, DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            pair.postReceive(3, region, ROOM, MESSAGE_BYTES);
        }
        return pair;
    }

    private void listen(QueuePair talk) {
        talk.postReceive(2, region, TOLD, TOLD - TELL);
    }

    // Server

    /** Answers each message by one of its kind: the kinds differ in length. */
    private void serve() {
        try (Listener listener = device.rdma().listen(SERVICE, 2)) {
            System.out.println("listening");
            ConnectionRequest request = taken(listener);
            QueuePair talk = talking(request.connection());
            request.accept();
            int answers = 0;
            int blank = 0;
            while (told.await(completion, PATIENCE_NS) && completion.status() == WcStatus.SUCCESS) {
                int bytes = (int) completion.byteLength();
                byte[] answer = bytes == KEYS ? keys() : heard(bytes);
                listen(talk);
                tell(talk, answer);
                answers++;
                if (bytes == KEYS && blank++ == 0) {
                    // The client connects for the test now.
                    ConnectionRequest second = taken(listener);
                    testing(second.connection());
                    second.accept();
                }
            }
            System.out.printf(
                    "%d answers, %d data packets%n",
                    answers, device.rdma().counters().get(CounterId.DATA_ACCEPTED) - answers);
        }
    }

    private static ConnectionRequest taken(Listener listener) {
        ConnectionRequest request = listener.accept(PATIENCE_NS);
        if (request == null) {
            throw new IllegalStateException("nobody came");
        }
        return request;
    }

    // Client

    private void dial(String there, String test, int count) {
        Connection first = dialed(there);
        QueuePair talk = talking(first);
        first.awaitOpen(PATIENCE_NS);
        ask(talk, Arrays.copyOf("6.06".getBytes(StandardCharsets.US_ASCII), VERSION_BYTES));
        ask(talk, new byte[] {0, 0, 16, 0});
        ask(talk, new byte[] {0, 0, 0, 64});
        ask(talk, new byte[] {'3', 0});
        ask(talk, new byte[KEYS]);
        Connection second = dialed(there);
        QueuePair pair = testing(second);
        second.awaitOpen(PATIENCE_NS);
        ask(talk, new byte[KEYS]);
        boolean sends = test.equals("send");
        for (int i = 0; i < (sends ? 4 : 3); i++) {
            ask(talk, keys());
        }
        ByteBuffer theirs = ByteBuffer.wrap(heard(KEYS));
        move(pair, test, count, theirs.getLong(ADDRESS_AT), theirs.getInt(RKEY_AT));
        ask(talk, keys());
        if (!sends) {
            for (int i = 0; i < FIGURES; i++) {
                ask(talk, new byte[FIGURE_BYTES]);
            }
            ask(talk, keys());
        }
        for (Connection connection : new Connection[] {second, first}) {
            connection.close();
            device.rdma().awaitClosed(connection, PATIENCE_NS);
        }
        System.out.println(count + " messages, " + second.state() + " " + first.state());
    }

    /**
     * Asks until it listens: perftest does so for its second connection when the first is there.
     */
    private Connection dialed(String there) {
        return device.rdma()
                .connect(UdpDevice.resolve(there, 4791), SERVICE, new byte[0], PATIENCE_NS);
    }

    private void move(QueuePair pair, String test, int count, long address, int rkey) {
        for (int i = 0; i < count; i++) {
            switch (test) {
                case "write" -> pair.postWrite(1, region, ROOM, MESSAGE_BYTES, address, rkey);
                case "read" -> pair.postRead(1, region, ROOM, MESSAGE_BYTES, address, rkey);
                default -> pair.postSend(1, region, ROOM, MESSAGE_BYTES);
            }
        }
        for (int i = 0; i < count; i++) {
            await(sent);
        }
    }

    // Messages

    private void ask(QueuePair talk, byte[] message) {
        tell(talk, message);
        await(told);
        if (completion.byteLength() != message.length) {
            throw new IllegalStateException("an answer of another kind: " + completion);
        }
        listen(talk);
    }

    private void tell(QueuePair talk, byte[] message) {
        MemorySegment.copy(message, 0, region.segment(), JAVA_BYTE, TELL, message.length);
        talk.postSend(1, region, TELL, message.length);
        await(sent);
    }

    /** What was told last. */
    private byte[] heard(int bytes) {
        return region.segment().asSlice(TOLD, bytes).toArray(JAVA_BYTE);
    }

    /** That all messages go to one place; the numbers of the queue pair mean nothing here. */
    private byte[] keys() {
        return ByteBuffer.allocate(KEYS)
                .putInt(RKEY_AT, region.rkey())
                .putLong(ADDRESS_AT, region.address() + ROOM)
                .array();
    }

    private void await(CompletionQueue queue) {
        if (!queue.await(completion, PATIENCE_NS) || completion.status() != WcStatus.SUCCESS) {
            throw new IllegalStateException("no success: " + completion.status());
        }
    }

    @Override
    public void close() {
        device.close();
    }
}
