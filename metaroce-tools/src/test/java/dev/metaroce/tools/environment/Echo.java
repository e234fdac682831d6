package dev.metaroce.tools.environment;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.ByteOrder.BIG_ENDIAN;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.rocev2.RoceConnect;
import dev.metaroce.tools.perftest.Exchange;
import dev.metaroce.tools.perftest.Figures;
import dev.metaroce.tools.perftest.Keys;
import dev.metaroce.tools.perftest.TcpTalk;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.SendRequest;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * Client of {@code peer GID echo} on rdma_rxe (interop/rxe/peer.c): READs and atomics on its
 * memory, then SENDs and WRITEs with immediate, each of which it answers by one of the same kind
 * and length. Either end compares what it gets, and posts every other receive only when its device
 * has said that there is none. The last message takes a key back, at each end.
 *
 * <pre>
 *   Echo HERE THERE    addresses of the device here, and of TCP there
 * </pre>
 */
final class Echo implements AutoCloseable {
    private enum Kind {
        SEND,
        SEND_WITH_IMMEDIATE,
        WRITE_WITH_IMMEDIATE
    }

    private static final int PORT = 18_515;
    private static final int MTU = PatientDevice.MTU;
    private static final long PATIENCE_NS = 30_000_000_000L;
    private static final int[] SIZES = {0, 1, MTU - 1, MTU, MTU + 1, 4096, 60_001};
    private static final ValueLayout.OfInt NUMBER =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(BIG_ENDIAN);

    // Where things are in the memory of the other end
    private static final int IN_MEMORY = 1000;
    private static final int THEIR_ROOM = 1 << 19;
    private static final int WORD = (1 << 20) - 64;
    private static final int KEY = WORD + 32;
    private static final int DOOR = WORD + 48;

    // In ours: where answers land, and what goes out
    private static final int ROOM = 0;
    private static final int ROOM_BYTES = 1 << 16;
    private static final int OUT = ROOM_BYTES;
    private static final int BYTES = 2 * ROOM_BYTES;

    private final UdpDevice device;
    private final CompletionQueue sent;
    private final CompletionQueue received;
    private final MemoryRegion region;
    private final MemoryRegion spare;
    private final Connection connection;
    private final QueuePair pair;
    private final Keys mine;
    private final WorkCompletion completion = new WorkCompletion();
    private Keys theirs;

    private Echo(String here) {
        device = PatientDevice.open(here);
        ProtectionDomain domain = device.rdma().allocProtectionDomain();
        sent = device.rdma().createCompletionQueue(16);
        received = device.rdma().createCompletionQueue(16);
        region = domain.register(Arena.ofAuto().allocate(BYTES, 8), Access.ALL);
        spare = domain.register(Arena.ofAuto().allocate(8, 8), Access.ALL);
        connection = device.rdma().connectByHand();
        pair = connection.createQueuePair(domain, sent, received, 8, 8);
        RoceConnect end = pair.localEnd();
        mine =
                new Keys(
                        end.reads(),
                        end.qpn(),
                        end.psn(),
                        region.rkey(),
                        region.address() + ROOM,
                        end.address(),
                        0);
        theirs = mine;
    }

    public static void main(String[] arguments) {
        InetSocketAddress there = new InetSocketAddress(arguments[1], PORT);
        try (Echo echo = new Echo(arguments[0]);
                TcpTalk talk = TcpTalk.connect(there, PATIENCE_NS, Thread::onSpinWait)) {
            echo.talk(new Exchange(talk, List.of(echo.mine)));
        }
    }

    private void talk(Exchange exchange) {
        Exchange.Agreement agreed = exchange.open(MTU);
        theirs = agreed.theirs().getFirst();
        pair.connect(
                new RoceConnect(
                        theirs.host(), theirs.qpn(), theirs.psn(), agreed.mtu(), theirs.reads()));
        connection.awaitOpen(PATIENCE_NS);
        exchange.begin(false);
        reads();
        atomics();
        int messages = messages();
        int key = invalidate(messages);
        // What is refused ends the other end's queue pair: it must have got all else.
        exchange.begin(false);
        expectRefused(key);
        exchange.finish(true, Figures.of(0, messages, 1));
        System.out.printf(
                "all %d as they have to be, receives missing here %d there %d%n",
                messages + 1, count(CounterId.RNR_NAKS_SENT), count(CounterId.RNR_NAKS_RECEIVED));
    }

    // Memory of the other end

    private void reads() {
        for (int bytes : SIZES) {
            clear();
            pair.postRead(1, region, ROOM, bytes, theirs.address(), theirs.rkey());
            await(sent);
            compare(IN_MEMORY, bytes);
        }
    }

    private void atomics() {
        long address = theirs.address() + WORD;
        pair.postFetchAndAdd(1, region, ROOM, address, theirs.rkey(), 40);
        expectWord(0);
        pair.postFetchAndAdd(1, region, ROOM, address, theirs.rkey(), 2);
        expectWord(40);
        pair.postCompareAndSwap(1, region, ROOM, address, theirs.rkey(), 42, 7);
        expectWord(42);
        pair.postCompareAndSwap(1, region, ROOM, address, theirs.rkey(), 42, 9);
        expectWord(7);
        pair.postRead(1, region, ROOM, Long.BYTES, address, theirs.rkey());
        expectWord(7);
    }

    private void expectWord(long value) {
        await(sent);
        long word = region.segment().get(ValueLayout.JAVA_LONG, ROOM);
        expect(word == value, "a word is " + word + ", not " + value);
    }

    // Messages

    private int messages() {
        int number = 0;
        for (int bytes : SIZES) {
            for (Kind kind : Kind.values()) {
                fill(number, bytes);
                exchange(number, request(kind, number).local(region, OUT, bytes));
                expect(completion.byteLength() == bytes, "an answer of another length");
                expect(
                        completion.hasImmediate() == (kind != Kind.SEND)
                                && (kind == Kind.SEND || completion.immediate() == ~number),
                        "an answer with another immediate");
                compare(~number, bytes);
                number++;
            }
        }
        return number;
    }

    private SendRequest request(Kind kind, int number) {
        SendRequest request = new SendRequest();
        return switch (kind) {
            case SEND -> request.send();
            case SEND_WITH_IMMEDIATE -> request.sendWithImmediate(number);
            case WRITE_WITH_IMMEDIATE ->
                    request.writeWithImmediate(
                            theirs.address() + THEIR_ROOM, theirs.rkey(), number);
        };
    }

    /** Sends it and waits for the answer. Every other one finds no receive at first. */
    private void exchange(int number, SendRequest request) {
        clear();
        boolean late = number % 2 == 1;
        long before = count(CounterId.RNR_NAKS_SENT);
        if (!late) {
            pair.postReceive(2, region, ROOM, ROOM_BYTES);
        }
        pair.post(request);
        await(sent);
        if (late) {
            long startNs = System.nanoTime();
            while (count(CounterId.RNR_NAKS_SENT) == before) {
                expect(System.nanoTime() - startNs < PATIENCE_NS, "there is no answer");
                Thread.onSpinWait();
            }
            pair.postReceive(2, region, ROOM, ROOM_BYTES);
        }
        await(received);
    }

    /** Through the window, whose key a SEND takes back then; the answer takes back one of ours. */
    private int invalidate(int number) {
        pair.postRead(1, region, OUT, Integer.BYTES, theirs.address() + KEY, theirs.rkey());
        await(sent);
        int key = region.segment().get(NUMBER, OUT);
        write(key, 1);
        await(sent);
        region.segment().set(NUMBER, OUT, spare.rkey());
        exchange(
                number,
                new SendRequest().sendWithInvalidate(key).local(region, OUT, Integer.BYTES));
        expect(completion.invalidatedKey() == spare.rkey(), "another key was taken back");
        expect(spare.isRevoked(), "a key that was taken back works");
        return key;
    }

    private void expectRefused(int key) {
        write(key, 2);
        expect(sent.await(completion, PATIENCE_NS), "there is no completion");
        expect(completion.status() == WcStatus.REMOTE_ACCESS_ERROR, "it is not refused");
    }

    private void write(int key, int value) {
        region.segment().set(JAVA_BYTE, OUT, (byte) value);
        pair.postWrite(1, region, OUT, 1, theirs.address() + DOOR, key);
    }

    // Data

    private static byte data(int message, int i) {
        return (byte) ((i * 0x9E37_79B1 + message * 40_503) >>> 24 | 1);
    }

    private void fill(int message, int bytes) {
        for (int i = 0; i < bytes; i++) {
            region.segment().set(JAVA_BYTE, OUT + i, data(message, i));
        }
    }

    private void clear() {
        region.segment().asSlice(ROOM, ROOM_BYTES).fill((byte) 0);
    }

    /** Exactly the message is there. */
    private void compare(int message, int bytes) {
        MemorySegment memory = region.segment();
        for (int i = 0; i < bytes; i++) {
            expect(memory.get(JAVA_BYTE, ROOM + i) == data(message, i), "other data came");
        }
        expect(memory.get(JAVA_BYTE, ROOM + bytes) == 0, "more came than was sent");
    }

    private void await(CompletionQueue queue) {
        expect(queue.await(completion, PATIENCE_NS), "there is no completion");
        expect(completion.status() == WcStatus.SUCCESS, "no success: " + completion);
    }

    private long count(CounterId id) {
        return device.rdma().counters().get(id);
    }

    private static void expect(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    @Override
    public void close() {
        device.close();
    }
}
