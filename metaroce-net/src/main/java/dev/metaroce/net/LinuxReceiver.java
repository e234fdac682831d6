package dev.metaroce.net;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/**
 * Takes datagrams off Linux sockets, many per system call, and separates what the kernel merged.
 * Owned by the port's thread; nothing allocates per packet.
 */
final class LinuxReceiver {
    /** Room for the longest datagram, or as much as the kernel merges. */
    private static final int SLOT_BYTES = 65_536;

    /** Errors in a row after which the rest waits for the next turn. */
    private static final int ERRORS_MAX = 16;

    private final Libc libc;
    private final PortCounters counters;
    private final PacketMemory memory;
    private final MessageArray messages;
    private final int messageCount;
    private final InternedAddresses sources = new InternedAddresses();

    LinuxReceiver(
            Libc libc, PortCounters counters, boolean ipv6, boolean checksums, int messageCount) {
        this.libc = libc;
        this.counters = counters;
        this.messageCount = messageCount;
        memory = PacketMemory.allocate(messageCount * SLOT_BYTES, checksums);
        messages = new MessageArray(messageCount, ipv6, 0);
        for (int i = 0; i < messageCount; i++) {
            messages.buffer(i, memory.segment().address() + (long) i * SLOT_BYTES, SLOT_BYTES);
            messages.incoming(i);
        }
    }

    /** Hands over what waits at a socket; see {@link Port#receive}. */
    int drain(int fd, int plane, DatagramSink sink, int datagramsMax) {
        int n = 0;
        int errors = 0;
        while (n < datagramsMax && errors < ERRORS_MAX) {
            int got = libc.recvmmsg(fd, messages.address(0), messageCount);
            if (got == -Libc.EAGAIN) {
                break;
            }
            if (got < 0) {
                errors++;
                noteError(-got);
                continue;
            }
            counters.add(PortCounters.RX_CALLS, 1);
            long nowNs = System.nanoTime();
            for (int i = 0; i < got; i++) {
                n += deliver(i, plane, nowNs, sink);
                messages.incoming(i);
            }
            if (got < messageCount) {
                break;
            }
        }
        return n;
    }

    /** An ICMP error of an earlier send, for example: it concerns one peer, not the loop. */
    private void noteError(int errno) {
        if (errno != Libc.EINTR) {
            counters.add(PortCounters.RX_ERRORS, 1);
            counters.lastError("receive: " + libc.text(errno));
        }
    }

    private int deliver(int i, int plane, long nowNs, DatagramSink sink) {
        if (messages.isCut(i)) {
            counters.add(PortCounters.RX_ERRORS, 1);
            counters.lastError("receive: a message did not fit and was dropped");
            return 0;
        }
        messages.readControl(i);
        int bytes = messages.receivedBytes(i);
        int segment = messages.segmentBytes() > 0 ? messages.segmentBytes() : SLOT_BYTES;
        NetAddress source = messages.source(i, plane, sources);
        Ecn ecn = messages.ecn();
        int base = i * SLOT_BYTES;
        int at = 0;
        int n = 0;
        do {
            int length = Math.min(segment, bytes - at);
            sink.onDatagram(nowNs, memory, base + at, length, source, ecn);
            at += segment;
            n++;
        } while (at < bytes);
        counters.add(PortCounters.RX_DATAGRAMS, n);
        counters.add(PortCounters.RX_BYTES, bytes);
        return n;
    }
}
