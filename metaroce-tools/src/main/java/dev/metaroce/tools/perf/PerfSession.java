package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.QueuePair;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The server's end of one connection: does what the client says, row after row. Driven by {@link
 * #turn} on the server's thread; never blocks.
 */
final class PerfSession {
    private static final long CHECK_BYTES = 1 << 20;

    private final Peer peer;
    private final PerfServer server;
    private final PerfTest test;
    private @Nullable PingPong game;
    private CounterSnapshot rowStart;
    private long messageBytes;
    private boolean inRow;
    private boolean spoke;
    private boolean bye;
    private boolean wantsReport;
    private boolean verifies;

    PerfSession(Peer peer, PerfServer server) {
        this.peer = peer;
        this.server = server;
        test = peer.parameters.test();
        rowStart = snapshot();
    }

    Peer peer() {
        return peer;
    }

    /** A client that only knocked and went away again is none. */
    boolean spoke() {
        return spoke;
    }

    /** True while packets of a row flow, when the server's thread must not sleep. */
    boolean inRow() {
        return inRow;
    }

    boolean hasEnded() {
        return peer.hasEnded();
    }

    /** True when the client said goodbye, so that the end of its connection is no failure. */
    boolean saidBye() {
        return bye;
    }

    /** One look at everything that may have happened; true when something had. */
    boolean turn() {
        if (peer.connection.state() == ConnectionState.FAILED) {
            return false;
        }
        boolean worked = inRow && !peer.hasEnded() && workOnRow();
        if (wantsReport && (game == null || game.isDrained())) {
            wantsReport = false;
            report();
            worked = true;
        }
        PerfMessage message = peer.channel.poll(PerfMessage.class);
        if (message != null) {
            spoke = true;
            onMessage(message);
            worked = true;
        }
        return worked;
    }

    private boolean workOnRow() {
        return switch (test) {
            case WRITE_BW -> false;
            case SEND_BW -> repostReceives();
            case WRITE_LAT, SEND_LAT -> answer();
        };
    }

    private boolean answer() {
        PingPong pong = game;
        if (pong == null || !pong.canSend() || !pong.hasArrived()) {
            return false;
        }
        pong.send();
        return true;
    }

    private boolean repostReceives() {
        boolean any = false;
        while (peer.receives.poll(peer.completion)) {
            if (peer.hasEnded()) {
                return false;
            }
            if (peer.completion.status() != WcStatus.SUCCESS) {
                throw peer.failure("receive of " + messageBytes + " B");
            }
            postReceive((int) peer.completion.wrId());
            any = true;
        }
        return any;
    }

    private void postReceive(int q) {
        QueuePair pair = peer.pairs[q];
        long bytes = peer.parameters.maxMessageBytes();
        long offset = q % peer.parameters.slots() * bytes;
        if (pair.postReceive(q, peer.memory(), offset, bytes) != PostResult.OK) {
            throw new IllegalStateException("receive queue full");
        }
    }

    private void onMessage(PerfMessage message) {
        switch (message.kind()) {
            case ROW -> beginRow(message);
            case ROW_END -> {
                // Not yet out of the row: the last pong may still wait for its turn.
                inRow = false;
                wantsReport = true;
                verifies = message.verify();
            }
            case BYE -> bye = true;
            case READY, REPORT -> {
                // Words of a server; a client that says them is none of ours.
                bye = true;
                peer.connection.close();
            }
        }
    }

    private void beginRow(PerfMessage message) {
        messageBytes = message.messageBytes();
        peer.remote = message.region();
        prepareMemory(message.pieceBytes());
        rowStart = snapshot();
        inRow = true;
        peer.channel.send(PerfMessage.ready(peer.memory().descriptor()));
    }

    private void prepareMemory(int pieceBytes) {
        PerfParameters parameters = peer.parameters;
        boolean first = !peer.hasMemory();
        if (test.isLatency()) {
            if (first) {
                peer.allocate(
                        PingPong.memoryBytes(parameters), Access.LOCAL_WRITE | Access.REMOTE_WRITE);
            }
            game = new PingPong(peer, messageBytes, pieceBytes);
            game.prepare();
            return;
        }
        if (first) {
            peer.allocate(
                    parameters.slots() * parameters.maxMessageBytes(),
                    Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        }
        clear(peer.memory());
        if (test.isSend() && !peer.hasPostedReceives) {
            peer.hasPostedReceives = true;
            for (int i = 0; i < parameters.receiveDepth(); i++) {
                for (int q = 0; q < parameters.qps(); q++) {
                    postReceive(q);
                }
            }
        }
    }

    /** So that intact data at the end can only come from this row. */
    private void clear(MemoryRegion memory) {
        long stride = peer.parameters.maxMessageBytes();
        for (int slot = 0; slot < peer.parameters.slots(); slot++) {
            memory.segment().asSlice(slot * stride, messageBytes).fill((byte) 0);
        }
    }

    private void report() {
        if (test == PerfTest.SEND_BW) {
            repostReceives();
        }
        Boolean intact = (verifies && !test.isLatency()) ? isIntact() : null;
        CounterSnapshot row = snapshot().since(rowStart);
        if (verifies) {
            server.onRowEnd(peer, messageBytes, row.get(CounterId.DATA_ACCEPTED), intact);
        }
        peer.channel.send(
                PerfMessage.report(
                        new PerfMessage.ServerReport(
                                intact,
                                peer.device.limits().contexts(),
                                server.contextsPeak(),
                                peer.device.contextTableBytes(),
                                row.nonZero(),
                                server.events())));
    }

    /** Looks at a MiB at a time: the device must answer its peers meanwhile. */
    private boolean isIntact() {
        MemorySegment memory = peer.memory().segment();
        PerfParameters parameters = peer.parameters;
        for (int slot = 0; slot < parameters.slots(); slot++) {
            long base = slot * parameters.maxMessageBytes();
            for (long at = 0; at < messageBytes; at += CHECK_BYTES) {
                long bytes = Math.min(CHECK_BYTES, messageBytes - at);
                if (!Pattern.matches(memory, base, at, bytes, parameters.seed())) {
                    return false;
                }
                peer.device.progress();
            }
        }
        return true;
    }

    private CounterSnapshot snapshot() {
        return CounterSnapshot.of(List.of(peer.device.counters()));
    }
}
