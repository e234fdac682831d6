package dev.metaroce.tools.demo;

import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.Progress;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.tools.link.MessageChannel;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The sending end of one transfer: WRITEs the mapped file piece by piece, the last piece with an
 * immediate that tells the receiver to hash. One thread drives everything.
 */
final class DemoSender implements AutoCloseable {
    private static final long PIECE_BYTES = 1 << 20;
    private static final int WINDOW_PIECES = 16;
    private static final long CONNECT_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long ANSWER_NS = TimeUnit.SECONDS.toNanos(60);
    private static final long RELEASE_NS = TimeUnit.SECONDS.toNanos(2);
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(30);

    private final Endpoint endpoint;
    private final RdmaDevice device;
    private final LifeLine lifeLine;
    private final ReceiverProcess receiver;
    private final EventTally tally = new EventTally();
    private final WorkCompletion completion = new WorkCompletion();
    private final Idle idle = new Idle();
    private long firstPostNs;
    private long lastCompletionNs;

    DemoSender(Profile profile, LifeLine lifeLine, ReceiverProcess receiver) {
        this.lifeLine = lifeLine;
        this.receiver = receiver;
        EventSink shown = lifeLine.senderSink();
        EventSink both =
                (nowNs, id, a, b, c) -> {
                    tally.onEvent(nowNs, id, a, b, c);
                    shown.onEvent(nowNs, id, a, b, c);
                };
        endpoint =
                Endpoint.open(
                        DeviceOptions.builder()
                                .bind("127.0.0.1")
                                .port(0)
                                .limits(DemoMessage.limits())
                                .profiles(profile.code())
                                .driveMode(DriveMode.INLINE)
                                .events(both)
                                .build());
        device = endpoint.rdma();
    }

    /** What the sender knows after a transfer. */
    record Outcome(
            DemoMessage answer,
            long elapsedNs,
            int payloadMtu,
            int paths,
            CounterSnapshot counters) {}

    Outcome send(InetSocketAddress relay, MemorySegment file, Progress progress) {
        ProtectionDomain domain = device.allocProtectionDomain();
        MemoryRegion source = domain.register(file, 0);
        Connection connection =
                device.connect(Addresses.toNetAddress(relay), DemoMessage.SERVICE, new byte[0]);
        MessageChannel channel = new MessageChannel(device, connection, domain, Arena.ofAuto());
        CompletionQueue done = device.createCompletionQueue(WINDOW_PIECES);
        CompletionQueue unused = device.createCompletionQueue(1);
        QueuePair pair = connection.createQueuePair(domain, done, unused, WINDOW_PIECES, 1);
        boolean settled = drive(() -> connection.state() != ConnectionState.CONNECTING, CONNECT_NS);
        if (!settled || connection.state() != ConnectionState.OPEN) {
            throw ToolException.failed(
                    "no connection to the receiver through the relay: " + connection.failure());
        }
        RegionDescriptor target =
                RegionDescriptor.get(ByteBuffer.wrap(connection.peerPrivateData()));
        transfer(pair, done, source, target, progress);
        DemoMessage last = answer(channel, connection);
        CounterSnapshot counters = CounterSnapshot.of(List.of(device.counters()));
        // Idle leases linger and are then given back, ours and that of the answer: part of the
        // show.
        drive(
                () ->
                        tally.count(EventId.LEASE_RELEASED) > 0
                                && tally.count(EventId.CID_RELEASED) > 0,
                RELEASE_NS);
        int payloadMtu = connection.payloadMtu();
        int paths = connection.paths();
        connection.close();
        drive(() -> connection.state() != ConnectionState.OPEN, RELEASE_NS / 4);
        source.close();
        return new Outcome(last, lastCompletionNs - firstPostNs, payloadMtu, paths, counters);
    }

    private void transfer(
            QueuePair pair,
            CompletionQueue done,
            MemoryRegion source,
            RegionDescriptor target,
            Progress progress) {
        long total = source.length();
        long posted = 0;
        long finished = 0;
        boolean lastPosted = false;
        boolean lastDone = false;
        firstPostNs = System.nanoTime();
        lastCompletionNs = firstPostNs;
        long pieces = (total + PIECE_BYTES - 1) / PIECE_BYTES;
        lifeLine.note(firstPostNs, "WRITE", "posts the first of " + pieces + " work requests");
        while (!lastDone) {
            int moved = device.progress();
            while (done.poll(completion)) {
                if (completion.status() != WcStatus.SUCCESS) {
                    throw LinkFailure.of(pair.connection(), "the transfer", completion);
                }
                finished += completion.wrId();
                lastCompletionNs = System.nanoTime();
                lastDone = lastPosted && finished == total;
                progress.at(finished);
            }
            while (!lastPosted && post(pair, source, target, posted)) {
                posted = Math.min(posted + PIECE_BYTES, total);
                lastPosted = posted == total;
            }
            long nowNs = System.nanoTime();
            lifeLine.showUntil(nowNs);
            if (moved == 0) {
                idle.pause(true);
                checkAlive(nowNs - lastCompletionNs, finished);
            } else {
                idle.reset();
            }
        }
        lifeLine.note(lastCompletionNs, "DONE", "the last one completed: every byte is placed");
    }

    /** The number of a work request is its size, which is all that its completion needs. */
    private static boolean post(
            QueuePair pair, MemoryRegion source, RegionDescriptor target, long offset) {
        long bytes = Math.min(PIECE_BYTES, source.length() - offset);
        long address = target.address() + offset;
        int rkey = target.rkey();
        boolean last = offset + bytes == source.length();
        PostResult result =
                last
                        ? pair.postWriteWithImmediate(
                                bytes, source, offset, bytes, address, rkey, 1, true)
                        : pair.postWrite(bytes, source, offset, bytes, address, rkey);
        return result == PostResult.OK;
    }

    private void checkAlive(long silentNs, long finished) {
        if (!receiver.isAlive()) {
            throw ToolException.failed(
                    "the receiver process ended after " + finished + " bytes: see above");
        }
        if (silentNs > STALL_NS) {
            throw ToolException.failed(
                    "no progress for %d s after %,d bytes"
                            .formatted(TimeUnit.NANOSECONDS.toSeconds(silentNs), finished));
        }
    }

    private DemoMessage answer(MessageChannel channel, Connection connection) {
        @Nullable DemoMessage[] got = new @Nullable DemoMessage[1];
        boolean came =
                drive(
                        () -> {
                            got[0] = channel.poll(DemoMessage.class);
                            return got[0] != null || !receiver.isAlive();
                        },
                        ANSWER_NS);
        DemoMessage message = got[0];
        if (!came || message == null) {
            throw ToolException.failed(
                    "no answer from the receiver; connection: "
                            + connection.state()
                            + " "
                            + connection.failure());
        }
        return message;
    }

    private boolean drive(BooleanSupplier condition, long timeoutNs) {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            boolean moved = device.progress() > 0;
            long nowNs = System.nanoTime();
            lifeLine.showUntil(nowNs);
            if (nowNs - startNs > timeoutNs) {
                return condition.getAsBoolean();
            }
            if (moved) {
                idle.reset();
            } else {
                idle.pause(false);
            }
        }
        return true;
    }

    @Override
    public void close() {
        endpoint.close();
    }
}
