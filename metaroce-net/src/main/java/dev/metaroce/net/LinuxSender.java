package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import java.util.function.Consumer;

/**
 * Gives the runs of a batch to Linux sockets: a run is one message, which the kernel cuts into
 * datagrams; the messages of one socket go in one system call. What a destination's way refuses is
 * done without from then on, and the datagrams concerned go again at once.
 *
 * <p>Owned by the port's thread; nothing allocates per packet.
 */
final class LinuxSender {
    private static final int MESSAGES = 64;

    /** Header, payload and checksum of a packet whose payload is elsewhere. */
    private static final int VECTORS_PER_PACKET = 3;

    /** As many as a whole batch of the driver needs with payloads of 2 KiB. */
    private static final int VECTORS = 512;

    private static final int PACKETS_PER_MESSAGE_MAX = 64;

    /** How often a send is tried again when the socket buffer is full. */
    private static final int RETRIES_MAX = 64;

    /** Destinations remembered as refusing a feature; with more of them it is off for all. */
    private static final int REFUSALS_MAX = 1024;

    private final Libc libc;
    private final PortCounters counters;
    private final Consumer<String> notices;
    private final RefusedFeature gso;
    private final RefusedFeature ecn;
    private final MessageArray messages;
    private final MessageArray single;
    private final IoVectors vectors = new IoVectors(VECTORS);
    private final IoVectors singleVectors = new IoVectors(VECTORS_PER_PACKET);

    // The messages of one system call, and how far the walk through the batch has come
    private final int[] run = new int[MESSAGES];
    private final int[] at = new int[MESSAGES];
    private final int[] bytes = new int[MESSAGES];
    private final int[] segment = new int[MESSAGES];
    private final boolean[] ect = new boolean[MESSAGES];
    private int nextRun;
    private int nextAt;

    /**
     * @param notices gets a line for people when a feature is refused
     */
    LinuxSender(
            Libc libc,
            PortCounters counters,
            LinuxSockets sockets,
            int dscp,
            Consumer<String> notices) {
        this.libc = libc;
        this.counters = counters;
        this.notices = notices;
        gso = new RefusedFeature("UDP segmentation offload", sockets.gso, REFUSALS_MAX);
        ecn = new RefusedFeature("ECN-capable marking", sockets.ecn, REFUSALS_MAX);
        messages = new MessageArray(MESSAGES, sockets.ipv6, dscp);
        single = new MessageArray(1, sockets.ipv6, dscp);
    }

    boolean usesGso() {
        return gso.isOn();
    }

    boolean usesEcn() {
        return ecn.isOn();
    }

    /** See {@link Port#send}. */
    int send(TxBatch batch, LinuxSockets sockets) {
        nextRun = 0;
        nextAt = 0;
        int sent = 0;
        while (nextRun < batch.runs()) {
            int plane = batch.destination(nextRun).plane();
            int fd = sockets.fds[plane * sockets.stride + batch.route(nextRun)];
            int count = collect(batch, plane);
            sent += sendCollected(batch, fd, count);
        }
        return sent;
    }

    /** Readies messages for the runs from here on that have the same socket. */
    private int collect(TxBatch batch, int plane) {
        int route = batch.route(nextRun);
        int count = 0;
        vectors.clear();
        while (count < MESSAGES
                && nextRun < batch.runs()
                && batch.route(nextRun) == route
                && vectors.hasRoom(VECTORS_PER_PACKET * PACKETS_PER_MESSAGE_MAX)) {
            NetAddress to = batch.destination(nextRun);
            if (to.plane() != plane) {
                break;
            }
            int cut = batch.segmentBytes(nextRun);
            int left = batch.bytes(nextRun) - nextAt;
            boolean offload = left > cut && gso.isOnFor(to);
            run[count] = nextRun;
            at[count] = batch.offset(nextRun) + nextAt;
            bytes[count] = offload ? left : Math.min(left, cut);
            segment[count] = cut;
            ect[count] = batch.ect(nextRun) && ecn.isOnFor(to);
            content(messages, count, vectors, batch, nextRun, at[count], bytes[count]);
            messages.outgoing(count, to, offload ? cut : 0, ect[count]);
            nextAt += bytes[count];
            if (nextAt == batch.bytes(nextRun)) {
                nextRun++;
                nextAt = 0;
            }
            count++;
        }
        return count;
    }

    /** Points a message to some whole packets of a run, wherever their payload is. */
    private static void content(
            MessageArray messages,
            int message,
            IoVectors vectors,
            TxBatch batch,
            int run,
            int from,
            int length) {
        int cut = batch.segmentBytes(run);
        int packet = batch.firstPacket(run) + (from - batch.offset(run)) / cut;
        if (!batch.lends(run)) {
            messages.buffer(message, addressOf(batch, from), length);
            return;
        }
        int first = vectors.count();
        for (int at = from; at < from + length; at += cut, packet++) {
            int lent = batch.lentBytes(packet);
            int header = lent == 0 ? 0 : batch.lentAt(packet);
            int end = Math.min(at + cut, from + length);
            if (lent > 0) {
                vectors.add(addressOf(batch, at), header);
                vectors.add(batch.lentAddress(packet), lent);
            }
            vectors.add(addressOf(batch, at + header + lent), end - at - header - lent);
        }
        messages.buffers(message, vectors.address(first), vectors.count() - first);
    }

    private static long addressOf(TxBatch batch, int offset) {
        return batch.memory().segment().address() + offset;
    }

    private int sendCollected(TxBatch batch, int fd, int count) {
        int sent = 0;
        int done = 0;
        while (done < count) {
            int result = insist(fd, messages.address(done), count - done);
            for (int i = 0; i < result; i++) {
                sent += account(bytes[done + i], segment[done + i]);
            }
            if (result > 0) {
                done += result;
            } else {
                sent += refused(batch, fd, done, -result);
                done++;
            }
        }
        return sent;
    }

    /** One system call that is made again while the socket buffer is full, a bounded time. */
    private int insist(int fd, long address, int count) {
        int result = libc.sendmmsg(fd, address, count);
        for (int i = 0; i < RETRIES_MAX && isBusy(result); i++) {
            counters.add(PortCounters.TX_FULL, 1);
            Thread.onSpinWait();
            result = libc.sendmmsg(fd, address, count);
        }
        if (result > 0) {
            counters.add(PortCounters.TX_CALLS, 1);
        }
        return result;
    }

    private static boolean isBusy(int result) {
        return result == -Libc.EAGAIN || result == -Libc.ENOBUFS || result == -Libc.EINTR;
    }

    private int account(int messageBytes, int segmentBytes) {
        int packets = packets(messageBytes, segmentBytes);
        counters.add(PortCounters.TX_DATAGRAMS, packets);
        counters.add(PortCounters.TX_BYTES, messageBytes);
        return packets;
    }

    private static int packets(int messageBytes, int segmentBytes) {
        return (messageBytes + segmentBytes - 1) / segmentBytes;
    }

    /** The kernel did not take a message: its datagrams go again, each with as little as needed. */
    private int refused(TxBatch batch, int fd, int message, int errno) {
        NetAddress to = batch.destination(run[message]);
        boolean cut = bytes[message] > segment[message];
        if (!isFeatureRefusal(errno) || (!cut && !ect[message])) {
            lost(to, errno, packets(bytes[message], segment[message]));
            return 0;
        }
        int sent = 0;
        int end = at[message] + bytes[message];
        for (int from = at[message]; from < end; from += segment[message]) {
            int length = Math.min(segment[message], end - from);
            singleVectors.clear();
            content(single, 0, singleVectors, batch, run[message], from, length);
            sent += sendSingle(fd, to, length, ect[message]);
        }
        if (cut && sent > 0) {
            giveUp(gso, to, errno);
        }
        return sent;
    }

    private int sendSingle(int fd, NetAddress to, int length, boolean mark) {
        single.outgoing(0, to, 0, mark && ecn.isOnFor(to));
        int result = insist(fd, single.address(0), 1);
        if (result < 0 && mark && ecn.isOnFor(to) && isFeatureRefusal(-result)) {
            int errno = -result;
            single.outgoing(0, to, 0, false);
            result = insist(fd, single.address(0), 1);
            if (result > 0) {
                giveUp(ecn, to, errno);
            }
        }
        if (result > 0) {
            return account(length, length);
        }
        lost(to, -result, 1);
        return 0;
    }

    /** Errors by which kernels and drivers refuse offloads and control messages. */
    private static boolean isFeatureRefusal(int errno) {
        return switch (errno) {
            case Libc.EIO, Libc.EINVAL, Libc.EMSGSIZE, Libc.ENOPROTOOPT, Libc.EOPNOTSUPP -> true;
            default -> false;
        };
    }

    private void giveUp(RefusedFeature feature, NetAddress to, int errno) {
        String line = feature.refuse(to, libc.text(errno));
        if (!line.isEmpty()) {
            notices.accept(line);
        }
    }

    private void lost(NetAddress to, int errno, int packets) {
        if (isBusy(-errno)) {
            counters.add(PortCounters.TX_DROPPED, packets);
        } else {
            counters.add(PortCounters.TX_ERRORS, packets);
            counters.unsent(to, libc.text(errno));
        }
    }
}
