package dev.metaroce.tools.perf;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * One end of a latency test: sends the message of a round and notices the one of the other end.
 * Both ends use it; the client begins a round and the server answers. No method blocks.
 *
 * <p>Write test: message r carries the byte r at the end of every packet-sized piece, and a round
 * has arrived when all those bytes are seen in memory. perftest looks at the last byte only, which
 * says nothing about the rest when packets may arrive in any order.
 */
final class PingPong implements Rounds {
    /** Send buffers, used in turn: a buffer belongs to the device until its completion. */
    static final int SLOTS = 16;

    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

    private final Peer peer;
    private final QueuePair pair;
    private final WorkCompletion completion = new WorkCompletion();
    private final boolean send;
    private final long messageBytes;
    private final long slotBytes;
    private final long pieceBytes;
    private final MemorySegment landing;
    private long posted;
    private long completed;
    private long expected = 1;
    private long pieceEnd;

    /**
     * Gives the peer its memory if it has none, and forgets earlier rows.
     *
     * @param pieceBytes payload bytes per packet, the same at both ends
     */
    PingPong(Peer peer, long messageBytes, int pieceBytes) {
        this.peer = peer;
        this.messageBytes = messageBytes;
        pair = peer.pairs[0];
        send = peer.parameters.test().isSend();
        slotBytes = slotBytes(peer.parameters.maxMessageBytes());
        this.pieceBytes = pieceBytes;
        pieceEnd = Math.min(pieceBytes, messageBytes);
        boolean first = !peer.hasMemory();
        if (first) {
            peer.source(peer.allocate(slotBytes * buffers(slotBytes)));
            peer.landing(peer.allocate(slotBytes));
        }
        landing = peer.landing().segment();
        landing.fill((byte) 0);
        if (send && first) {
            postReceive();
        }
    }

    /** Large messages get by with two buffers. */
    private static int buffers(long slotBytes) {
        return slotBytes <= 1 << 20 ? SLOTS : 2;
    }

    private static long slotBytes(long messageBytes) {
        return (messageBytes + 63) & -64;
    }

    /** perftest reports half of a round trip. */
    @Override
    public double share() {
        return LatencyMeter.HALF;
    }

    @Override
    public boolean isDrained() {
        return canSend() && posted == completed;
    }

    /** The buffer of the next round has to be free again. */
    @Override
    public boolean canSend() {
        while (peer.sends.poll(completion)) {
            if (completion.status() != WcStatus.SUCCESS) {
                throw peer.failure("message " + completion.wrId(), completion);
            }
            completed++;
        }
        return posted - completed < buffers(slotBytes);
    }

    @Override
    public void send() {
        long round = posted + 1;
        long offset = slotBytes * (posted % buffers(slotBytes));
        MemoryRegion memory = peer.source();
        PostResult result;
        if (send) {
            result = pair.postSend(round, memory, offset, messageBytes);
        } else {
            mark(memory.segment(), offset, (byte) round);
            long target = peer.remote().address();
            int rkey = peer.remote().rkey();
            result = pair.postWrite(round, memory, offset, messageBytes, target, rkey);
        }
        if (result != PostResult.OK) {
            throw new IllegalStateException("send queue full with " + (posted - completed));
        }
        posted = round;
    }

    private void mark(MemorySegment memory, long offset, byte value) {
        long end = 0;
        while (end < messageBytes) {
            end = Math.min(end + pieceBytes, messageBytes);
            memory.set(ValueLayout.JAVA_BYTE, offset + end - 1, value);
        }
    }

    /** The other end's message is here. */
    @Override
    public boolean hasArrived() {
        return send ? hasReceived() : hasLanded();
    }

    private boolean hasLanded() {
        byte wanted = (byte) expected;
        while ((byte) BYTE.getAcquire(landing, pieceEnd - 1) == wanted) {
            if (pieceEnd == messageBytes) {
                expected++;
                pieceEnd = Math.min(pieceBytes, messageBytes);
                return true;
            }
            pieceEnd = Math.min(pieceEnd + pieceBytes, messageBytes);
        }
        return false;
    }

    private boolean hasReceived() {
        if (!peer.receives.poll(completion)) {
            return false;
        }
        if (completion.status() != WcStatus.SUCCESS) {
            throw peer.failure("receive " + expected, completion);
        }
        expected++;
        postReceive();
        return true;
    }

    /** All receives land in one place: a latency test has one message under way. */
    private void postReceive() {
        long bytes = peer.parameters.maxMessageBytes();
        if (pair.postReceive(expected, peer.landing(), 0, bytes) != PostResult.OK) {
            throw new IllegalStateException("receive queue full");
        }
    }

    @Override
    public boolean isOver() {
        return posted == expected - 1;
    }
}
