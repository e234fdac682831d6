package dev.metaroce.net;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * What the port can carry with no protocol above it: one process sends datagrams of the size of
 * DATA packets, the other one counts what arrives. No transport over the same port is faster.
 *
 * <pre>
 *   Blast receive PORT PAYLOAD_BYTES SECONDS FILE [copied]
 *   Blast send PORT PAYLOAD_BYTES SECONDS FILE [copied]
 * </pre>
 *
 * <p>The receiver tells through a mapped file what has arrived, and the sender keeps a window of
 * that: flow control that costs nothing. Without any, the queue of the receiver is always full and
 * out of the caches, which is slower than a good transport and no ceiling.
 *
 * <p>With {@code copied}, the sender copies each payload out of a large memory and the receiver
 * copies it into one, as a transport has to; without, both leave the bytes alone.
 */
final class Blast {
    /** Headers and checksum around the payload of a WRITE. */
    private static final int OVERHEAD_BYTES = 52;

    private static final int HEADER_BYTES = 48;
    private static final int BATCH_BYTES = 1 << 17;
    private static final int RUNS_MAX = 64;
    private static final int RUN_PACKETS_MAX = 64;
    private static final int RECEIVE_MAX = 64;

    /** As much as the bandwidth test reads and writes: one message of 1 MiB. */
    private static final long MEMORY_BYTES = 1L << 20;

    /** Bytes on the way: a few buffers of the kernel, so that neither side waits. */
    private static final long WINDOW_BYTES = 512 << 10;

    /** What did not arrive after this long was dropped. */
    private static final long LOST_NS = 1_000_000;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private static final long NS_PER_SECOND = 1_000_000_000;
    private static final long WARM_UP_NS = NS_PER_SECOND / 2;
    private static final long PATIENCE_NS = 10 * NS_PER_SECOND;

    private final InetAddress host = InetAddress.getLoopbackAddress();
    private final int payloadBytes;
    private final long durationNs;
    private final boolean copied;
    private final MemorySegment memory;
    private final MemorySegment arrived;
    private long offset;
    private long sentBytes;
    private long lostBytes;

    private Blast(int payloadBytes, double seconds, Path file, boolean copied) throws IOException {
        this.payloadBytes = payloadBytes;
        durationNs = (long) (seconds * NS_PER_SECOND);
        this.copied = copied;
        try (FileChannel channel = FileChannel.open(file, READ, WRITE, CREATE)) {
            arrived = channel.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES, Arena.ofAuto());
        }
        memory = Arena.ofAuto().allocate(MEMORY_BYTES, 64);
        if (copied) {
            memory.fill((byte) 1);
        }
    }

    public static void main(String[] args) throws IOException {
        boolean copied = args.length > 5 && args[5].equals("copied");
        int payloadBytes = Integer.parseInt(args[2]);
        double seconds = Double.parseDouble(args[3]);
        Blast blast = new Blast(payloadBytes, seconds, Path.of(args[4]), copied);
        int port = Integer.parseInt(args[1]);
        switch (args[0]) {
            case "receive" -> blast.receive(port);
            case "send" -> blast.send(port);
            default -> throw new IllegalArgumentException("send or receive, not " + args[0]);
        }
    }

    /** Sends for the warm-up, the duration, and as long again; nobody needs to wait for the end. */
    private void send(int toPort) {
        NetAddress to = Addresses.toNetAddress(new InetSocketAddress(host, toPort));
        TxBatch batch = new TxBatch(BATCH_BYTES, RUNS_MAX, RUN_PACKETS_MAX);
        try (Port port = open(0)) {
            long start = System.nanoTime();
            while (System.nanoTime() - start < WARM_UP_NS + 2 * durationNs) {
                if (copied || batch.packets() == 0) {
                    fill(batch, to);
                }
                port.send(batch);
                sentBytes += (long) batch.packets() * payloadBytes;
                keepWindow();
            }
        }
    }

    private void keepWindow() {
        long since = System.nanoTime();
        long seen = (long) LONG.getAcquire(arrived, 0L);
        while (sentBytes - lostBytes - seen > WINDOW_BYTES) {
            Thread.onSpinWait();
            long now = (long) LONG.getAcquire(arrived, 0L);
            if (now != seen) {
                seen = now;
                since = System.nanoTime();
            } else if (System.nanoTime() - since > LOST_NS) {
                lostBytes = sentBytes - seen;
            }
        }
    }

    private void fill(TxBatch batch, NetAddress to) {
        int bytes = payloadBytes + OVERHEAD_BYTES;
        batch.clear();
        while (batch.hasRoom(bytes)) {
            int at = batch.append(to, 0, true, bytes);
            MemorySegment packets = batch.memory().segment();
            MemorySegment.copy(memory, advance(), packets, at + HEADER_BYTES, payloadBytes);
        }
    }

    /**
     * Counts payload for the duration, after the warm-up, and prints the rate and the kind of
     * sockets.
     */
    private void receive(int atPort) {
        Counter counter = new Counter();
        try (Port port = open(atPort)) {
            long start = System.nanoTime();
            while (port.receive(counter, 1) == 0) {
                if (System.nanoTime() - start > PATIENCE_NS) {
                    throw new IllegalStateException("nobody sends to port " + atPort);
                }
            }
            receiveFor(WARM_UP_NS, port, counter);
            counter.bytes = 0;
            long tookNs = receiveFor(durationNs, port, counter);
            double gbps = 8.0 * counter.bytes / tookNs;
            System.out.printf(Locale.ROOT, "received_gbps %.4f%n", gbps);
            System.out.println("sockets " + port.info().text());
        }
    }

    private static long receiveFor(long forNs, Port port, Counter counter) {
        long start = System.nanoTime();
        long tookNs = 0;
        while (tookNs < forNs) {
            port.receive(counter, RECEIVE_MAX);
            tookNs = System.nanoTime() - start;
        }
        return tookNs;
    }

    /** A port as devices open it. */
    private Port open(int port) {
        return Port.open(
                new PortOptions(
                        Transport.METAROCE,
                        List.of(host),
                        port,
                        0,
                        Port.WANTED_BUFFER_BYTES,
                        SocketKind.AUTO,
                        true,
                        true,
                        true,
                        0,
                        true));
    }

    private long advance() {
        long at = offset;
        offset = at + 2L * payloadBytes <= MEMORY_BYTES ? at + payloadBytes : 0;
        return at;
    }

    private final class Counter implements DatagramSink {
        private long bytes;
        private long total;

        @Override
        public void onDatagram(
                long nowNs,
                PacketMemory from,
                int at,
                int packetBytes,
                NetAddress source,
                Ecn ecn) {
            int payload = packetBytes - OVERHEAD_BYTES;
            bytes += payload;
            LONG.setRelease(arrived, 0L, total += payload);
            if (copied) {
                MemorySegment.copy(from.segment(), at + HEADER_BYTES, memory, advance(), payload);
            }
        }
    }
}
