package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.RdmaDevice;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * The answering side of all perf tests: adopts what the client asks for, serves the connections of
 * one client run at a time, and ends after the first run unless told to stay.
 */
final class PerfServer {
    /** A client whose packets stopped for so long in the middle of its run is gone. */
    private static final long SILENCE_NS = TimeUnit.SECONDS.toNanos(10);

    private final RdmaDevice device;
    private final EventTally events;
    private final ServerOutput output;
    private final boolean keep;
    private final ConcurrentLinkedQueue<Peer> newcomers = new ConcurrentLinkedQueue<>();
    private final List<PerfSession> sessions = new ArrayList<>();
    private final Idle idle = new Idle();
    private int contextsPeak;
    private long heardPackets;
    private long heardNs;

    /** The run being served, 0 when there is none; read on the engine's thread. */
    private volatile long group;

    private volatile int groupMembers;

    PerfServer(Endpoint endpoint, EventTally events, ServerOutput output, boolean keep) {
        device = endpoint.rdma();
        this.events = events;
        this.output = output;
        this.keep = keep;
    }

    /** Serves until the first client has finished; for ever with {@code keep}. */
    void run() {
        device.listen(PerfParameters.SERVICE, this::onRequest);
        do {
            serveOneRun();
        } while (keep);
    }

    /** On the engine's thread. */
    private byte @Nullable [] onRequest(Connection connection, byte[] privateData) {
        PerfParameters parameters = PerfParameters.decode(privateData);
        if (parameters == null) {
            return Welcome.VERSION.encode();
        }
        long serving = group;
        if (serving != 0 && serving != parameters.group()) {
            return Welcome.BUSY.encode();
        }
        group = parameters.group();
        groupMembers = parameters.initiators();
        newcomers.add(Peer.accept(device, connection, parameters));
        return Welcome.OK.encode();
    }

    private void serveOneRun() {
        contextsPeak = 0;
        boolean over = false;
        while (!over) {
            boolean worked = device.progress() > 0;
            worked |= admit();
            boolean busy = false;
            int ended = 0;
            int spoke = 0;
            for (int i = 0; i < sessions.size(); i++) {
                PerfSession session = sessions.get(i);
                worked |= session.turn();
                busy |= session.inRow();
                ended += session.hasEnded() ? 1 : 0;
                spoke += session.spoke() ? 1 : 0;
            }
            contextsPeak = Math.max(contextsPeak, device.contextsInUse());
            if (spoke == 0 && ended > 0) {
                dropKnocks();
            }
            over = spoke > 0 && ended == sessions.size() && ended >= groupMembers;
            if (worked) {
                idle.reset();
            } else {
                checkSilence();
                idle.pause(busy);
            }
        }
        finish();
    }

    private boolean admit() {
        Peer peer = newcomers.poll();
        if (peer == null) {
            return false;
        }
        if (sessions.isEmpty()) {
            heardNs = System.nanoTime();
            output.onClient(peer.connection.peer().toString(), peer.parameters);
        }
        sessions.add(new PerfSession(peer, this));
        return true;
    }

    /** Somebody connected and left without a word: wait for the next one. */
    private void dropKnocks() {
        Iterator<PerfSession> each = sessions.iterator();
        while (each.hasNext()) {
            PerfSession session = each.next();
            if (session.hasEnded()) {
                session.peer().close();
                each.remove();
            }
        }
        if (sessions.isEmpty()) {
            group = 0;
        }
    }

    /** A dead client closes nothing; without this look the server would wait for ever. */
    private void checkSilence() {
        long nowNs = System.nanoTime();
        long packets = device.counters().get(CounterId.RX_PACKETS);
        if (packets != heardPackets || sessions.isEmpty()) {
            heardPackets = packets;
            heardNs = nowNs;
        } else if (nowNs - heardNs > SILENCE_NS) {
            sessions.forEach(session -> session.peer().connection.close());
            throw ToolException.failed(
                    "client %s went silent for %d s in the middle of its run"
                            .formatted(
                                    sessions.getFirst().peer().connection.peer(),
                                    TimeUnit.NANOSECONDS.toSeconds(SILENCE_NS)));
        }
    }

    private void finish() {
        PerfSession first = sessions.getFirst();
        boolean allSaidBye = sessions.stream().allMatch(PerfSession::saidBye);
        String failure = first.peer().connection.failure();
        for (PerfSession session : sessions) {
            session.peer().close();
        }
        sessions.clear();
        group = 0;
        if (!allSaidBye && !keep) {
            String peer = first.peer().connection.peer().toString();
            throw ToolException.failed(
                    "client %s ended before its run was over%s"
                            .formatted(peer, failure.isEmpty() ? "" : ": " + failure));
        }
    }

    int contextsPeak() {
        return contextsPeak;
    }

    Map<String, Long> events() {
        return events.nonZero();
    }

    /** A session tells that a row is over. */
    void onRowEnd(Peer peer, long messageBytes, long packets, @Nullable Boolean intact) {
        if (peer == sessions.getFirst().peer()) {
            output.onRow(messageBytes, packets, intact, contextsPeak);
        }
    }
}
