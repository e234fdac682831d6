package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.verbs.ConnectionRequest;
import dev.metaroce.verbs.RdmaDevice;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * The answering side of all perf tests: adopts what the client asks for, serves the connections of
 * one client run at a time, and ends after the first run unless told to stay. One that stays
 * outlives every failure of a client.
 */
final class PerfServer {
    /**
     * A client whose packets stopped for so long in the middle of its run is gone. Longer than the
     * transport's own give-up time, shorter than the next client's patience.
     */
    private static final long SILENCE_NS = TimeUnit.SECONDS.toNanos(6);

    private static final long FAREWELL_NS = TimeUnit.SECONDS.toNanos(1);

    private final RdmaDevice device;
    private final EventTally events;
    private final ServerOutput output;
    private final boolean keep;
    private final ConcurrentLinkedQueue<Peer> newcomers = new ConcurrentLinkedQueue<>();
    private final List<PerfSession> sessions = new ArrayList<>();

    /** Ends of runs that failed: their memory stays until their connections are over. */
    private final List<Peer> leaving = new ArrayList<>();

    private final Idle idle;
    private int contextsPeak;
    private boolean announced;
    private long heardPackets;
    private long heardNs;

    /** The run being served, 0 when there is none; read on the engine's thread. */
    private volatile long group;

    PerfServer(Endpoint endpoint, EventTally events, ServerOutput output, boolean keep) {
        device = endpoint.rdma();
        idle = endpoint.newIdle();
        this.events = events;
        this.output = output;
        this.keep = keep;
    }

    /** Serves until the first client has finished; for ever with {@code keep}. */
    void run() {
        device.listen(PerfParameters.SERVICE, this::onRequest);
        do {
            try {
                serveOneRun();
            } catch (ToolException e) {
                dismiss(e.getMessage());
                if (!keep) {
                    throw e;
                }
                output.onFailure(String.valueOf(e.getMessage()));
            }
            output.onRunEnd();
        } while (keep);
    }

    /** On the engine's thread. */
    private void onRequest(ConnectionRequest request) {
        request.accept(welcome(request).encode());
    }

    private Welcome welcome(ConnectionRequest request) {
        PerfParameters parameters = PerfParameters.decode(request.privateData());
        if (parameters == null) {
            return Welcome.VERSION;
        }
        long serving = group;
        if (serving != 0 && serving != parameters.group()) {
            return Welcome.BUSY;
        }
        group = parameters.group();
        newcomers.add(Peer.accept(device, request.connection(), parameters));
        return Welcome.OK;
    }

    private void serveOneRun() {
        contextsPeak = 0;
        announced = false;
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
            over = spoke > 0 && ended == sessions.size() && ended >= members();
            if (worked) {
                idle.reset();
            } else {
                closeWhoLeft();
                checkSilence();
                idle.pause(busy);
            }
        }
        finish();
    }

    private int members() {
        return sessions.getFirst().peer().parameters.initiators();
    }

    private boolean admit() {
        Peer peer = newcomers.poll();
        if (peer == null) {
            return false;
        }
        if (sessions.isEmpty()) {
            group = peer.parameters.group();
            heardNs = System.nanoTime();
        } else if (peer.parameters.group() != group) {
            // Asked before the run of others was over, but is looked at only now.
            leave(peer);
            return true;
        }
        sessions.add(new PerfSession(peer, this));
        return true;
    }

    /** Somebody connected and left without a word: wait for the next one. */
    private void dropKnocks() {
        sessions.removeIf(
                session -> {
                    if (session.hasEnded()) {
                        session.peer().close();
                    }
                    return session.hasEnded();
                });
        if (sessions.isEmpty()) {
            group = 0;
        }
    }

    /**
     * A dead client closes nothing; without this look the server would wait for ever. What other
     * clients ask meanwhile is no sign of life.
     */
    private void checkSilence() {
        long nowNs = System.nanoTime();
        long packets =
                device.counters().get(CounterId.DATA_ACCEPTED)
                        + device.counters().get(CounterId.ACKS_RECEIVED);
        if (packets != heardPackets || sessions.isEmpty()) {
            heardPackets = packets;
            heardNs = nowNs;
            return;
        }
        long quietNs = 0;
        for (int i = 0; i < sessions.size(); i++) {
            quietNs = Math.max(quietNs, sessions.get(i).quietNs());
        }
        if (nowNs - heardNs > SILENCE_NS + quietNs) {
            throw ToolException.failed(
                    "client %s went silent for %d s in the middle of its run"
                            .formatted(
                                    sessions.getFirst().peer().connection.peer(),
                                    TimeUnit.NANOSECONDS.toSeconds(nowNs - heardNs)));
        }
    }

    private void finish() {
        PerfSession first = sessions.getFirst();
        if (!sessions.stream().allMatch(PerfSession::saidBye)) {
            String failure = LinkFailure.reasonOf(first.peer().connection);
            throw ToolException.failed(
                    "client %s ended before its run was over%s"
                            .formatted(
                                    first.peer().connection.peer(),
                                    failure.isEmpty() ? "" : ": " + failure));
        }
        for (PerfSession session : sessions) {
            session.peer().close();
        }
        sessions.clear();
        group = 0;
    }

    /** After a failure: tells the clients that still listen, and is free for the next one. */
    private void dismiss(@Nullable String reason) {
        for (PerfSession session : sessions) {
            Peer peer = session.peer();
            try {
                if (peer.isOpen() && peer.channel.isFlushed()) {
                    peer.channel.send(PerfMessage.refusal(String.valueOf(reason)));
                }
            } catch (ToolException e) {
                // It cannot be told any more.
            }
            leave(peer);
        }
        sessions.clear();
        group = 0;
        long startNs = System.nanoTime();
        while (!leaving.isEmpty() && System.nanoTime() - startNs < FAREWELL_NS) {
            device.progress();
            closeWhoLeft();
            idle.pause(false);
        }
    }

    private void leave(Peer peer) {
        if (!peer.hasEnded()) {
            peer.connection.close();
        }
        leaving.add(peer);
    }

    private void closeWhoLeft() {
        if (!leaving.isEmpty()) {
            leaving.removeIf(
                    peer -> {
                        if (peer.hasEnded()) {
                            peer.close();
                        }
                        return peer.hasEnded();
                    });
        }
    }

    int contextsPeak() {
        return contextsPeak;
    }

    Map<String, Long> events() {
        return events.nonZero();
    }

    /** A session tells that its client said something. */
    void onSpeak(Peer peer) {
        if (!announced) {
            announced = true;
            output.onClient(peer.connection.peer().toString(), peer.parameters);
        }
    }

    /** A session tells that a row is over. */
    void onRowEnd(Peer peer, long messageBytes, long packets, @Nullable Boolean intact) {
        if (peer == sessions.getFirst().peer()) {
            output.onRow(messageBytes, packets, intact, contextsPeak);
        }
    }
}
