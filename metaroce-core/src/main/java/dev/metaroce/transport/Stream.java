package dev.metaroce.transport;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Opcode;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One ordered stream of messages of a connection: the engine's side of a queue pair. As initiator
 * it cuts posted work into packets and completes it in post order; as target it counts messages and
 * completes receives in message order.
 *
 * <p>Applications touch the two work queues and the bell; all else belongs to the engine thread.
 */
public final class Stream extends ReadyList.Item<Stream> {
    /** Messages of one stream that may be unfinished at once: what the target's bitmap spans. */
    static final int MESSAGE_WINDOW = WindowBitmap.BITS;

    private static final long NONE = -1;
    private static final byte OPEN = 0;
    private static final byte SENT = 1;
    private static final byte DONE = 2;
    private static final VarHandle ERROR;

    static {
        try {
            ERROR = MethodHandles.lookup().findVarHandle(Stream.class, "error", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int id;
    private final TransportConnection connection;
    private final StreamSettings settings;
    private final DoorbellList.Bell bell = new DoorbellList.Bell(this);
    private final WorkQueue sendQueue;
    private final WorkQueue receiveQueue;
    private final CompletionRing sendRing;
    private final CompletionRing receiveRing;
    private boolean error;

    /** The application is done with the queue pair. */
    private volatile boolean closing;

    /** No completion follows but those of work posted by mistake. */
    private boolean ended;

    // Initiator. Slots headSeq..sendSeq-1 are sent, sendSeq is being cut at sendOffset, in the
    // message from messageStart to messageEnd, which ends at sendOffset when none is being cut.
    private long headSeq;
    private long sendSeq;
    private long sendOffset;
    private long messageStart;
    private long messageEnd;
    private int messageSlot;
    private long refusedSeq = NONE;
    private WcStatus refusedStatus = WcStatus.SUCCESS;
    private int nextMsn;

    /** The oldest message that is not known to have arrived whole, and which after it are. */
    private int missingMsn;

    private final long[] arrivedMsn = new long[WindowBitmap.WORDS];
    private int nextRecvSeq;
    private int txLease;

    /** READs and atomics begun and not finished. */
    private int openPulls;

    private final int[] pendingPackets;
    private final int[] recvSeq;
    private final byte[] progress;

    /** Not before this time may the stream send again: the target had no receive posted. */
    long pausedUntilNs;

    /** How often in a row the target had no receive; 0 when the oldest request is a new one. */
    int notReadyCount;

    /** The request that was refused first, meaningful while notReadyCount is not 0. */
    long notReadySeq;

    /** Since when the target has had no receive, meaningful while notReadyCount is not 0. */
    long notReadySinceNs;

    // Target
    private int rxLease;
    private int rxNextMsn;
    private final long[] rxDone = new long[WindowBitmap.WORDS];
    private long rxHead;
    private long rxBase;
    private long spoiltSeq = NONE;
    private int spoiltMsn;
    private WcStatus spoiltStatus = WcStatus.SUCCESS;

    /** First of the READs and atomics that came before their turn, for {@link DeferredPulls}. */
    int deferredPulls = DeferredPulls.NONE;

    private final long[] rxBytes;
    private final int[] rxImmediate;
    private final int[] rxMsn;

    /** Code of the operation that filled the receive, 0 until one did. */
    private final byte[] rxOpcode;

    /** Regions that messages invalidate when they are reported; null until the first. */
    private @Nullable MemoryRegion @Nullable [] rxInvalidates;

    Stream(int id, TransportConnection connection, StreamSettings settings) {
        this.id = id;
        this.connection = connection;
        this.settings = settings;
        sendRing = settings.send().ring();
        receiveRing = settings.receive().ring();
        int domain = settings.domain();
        sendQueue =
                WorkQueue.sends(
                        this,
                        domain,
                        settings.sendDepth(),
                        settings.maxSendSge(),
                        settings.maxInline(),
                        settings.signalAll());
        receiveQueue =
                WorkQueue.receives(this, domain, settings.receiveDepth(), settings.maxReceiveSge());
        int slots = sendQueue.slots();
        pendingPackets = new int[slots];
        recvSeq = new int[slots];
        progress = new byte[slots];
        int receives = receiveQueue.slots();
        rxBytes = new long[receives];
        rxImmediate = new int[receives];
        rxMsn = new int[receives];
        rxOpcode = new byte[receives];
    }

    public int id() {
        return id;
    }

    public DoorbellList.Bell bell() {
        return bell;
    }

    public WorkQueue sendQueue() {
        return sendQueue;
    }

    public WorkQueue receiveQueue() {
        return receiveQueue;
    }

    /** Any thread. */
    public boolean inError() {
        return (boolean) ERROR.getAcquire(this);
    }

    /**
     * Posting thread, after a post without a bell: true when the engine may have flushed the queue
     * before that post and has to be told of it.
     */
    public boolean missedFlush() {
        VarHandle.fullFence();
        return inError();
    }

    /** Sets what completions name as their owner; once, before work is posted. */
    public void attach(Object pair) {
        sendQueue.owner(pair);
        receiveQueue.owner(pair);
    }

    public TransportConnection connection() {
        return connection;
    }

    int domain() {
        return settings.domain();
    }

    StreamSettings settings() {
        return settings;
    }

    /** Room for the completions of sends. */
    public Reservation sendRoom() {
        return settings.send();
    }

    /** Room for the completions of receives. */
    public Reservation receiveRoom() {
        return settings.receive();
    }

    /** Posting thread: the queue pair is to end, at the next ring of the bell. */
    public void close() {
        closing = true;
    }

    boolean isClosing() {
        return closing;
    }

    /**
     * Bytes of a posted send that the peer has not acknowledged, the packets on the way counted as
     * full ones; 0 when there is none of that number. Engine thread only.
     */
    public long unacknowledgedBytes(long wrId) {
        long mtu = connection.payloadMtu();
        for (long seq = headSeq; seq < sendQueue.tail(); seq++) {
            if (sendQueue.wrId(seq) == wrId) {
                long length = sendQueue.length(seq);
                long cut = seq < sendSeq ? length : seq == sendSeq ? sendOffset : 0;
                long open = cut == 0 ? 0 : pendingPackets[sendQueue.index(seq)] * mtu;
                return length - cut + Math.min(open, cut);
            }
        }
        return 0;
    }

    // Initiator: cutting work into packets

    /** Numbers of messages and receives start again with every lease. */
    private void enterLease(int lease) {
        if (txLease != lease) {
            txLease = lease;
            nextMsn = 0;
            missingMsn = 0;
            WindowBitmap.clear(arrivedMsn, 0);
            nextRecvSeq = 0;
        }
    }

    /**
     * True when a packet of this stream could be cut now.
     *
     * @param newMessages false while only messages begun may go on
     */
    boolean hasWork(boolean newMessages, TxLease lease, long nowNs) {
        if (error || (notReadyCount > 0 && pausedUntilNs - nowNs > 0)) {
            return false;
        }
        if (isMidMessage()) {
            return true;
        }
        //= MR-4.2-3
        return newMessages
                && sendSeq < end()
                && (txLease != lease.number || nextMsn - missingMsn < MESSAGE_WINDOW)
                && (lease.messages.hasRoom() || !needsSlot(lease))
                && !isFencedOff();
    }

    /** True when the next message takes one of the lease's message slots. */
    private boolean needsSlot(TxLease lease) {
        return nextMessageBytes(lease) > lease.mtu || opcode(sendSeq).isAtomic();
    }

    private boolean isFencedOff() {
        //= MR-4.8-1
        return sendOffset == 0 && openPulls > 0 && sendQueue.fenced(sendSeq);
    }

    /** True when anything posted is not yet fully sent. */
    boolean hasUnsent() {
        return !error && sendSeq < end();
    }

    /**
     * Bytes posted and not yet sent, at most {@code most}; as many when there are more requests
     * than may be unfinished at once.
     */
    long unsentBytes(long most) {
        long bytes = -sendOffset;
        for (long seq = sendSeq; hasUnsent() && seq < end(); seq++) {
            bytes += sendQueue.length(seq);
            if (bytes >= most || seq - sendSeq == MESSAGE_WINDOW) {
                return most;
            }
        }
        return Math.max(0, bytes);
    }

    /** The request before which to stop. */
    private long end() {
        return refusedSeq == NONE ? sendQueue.tail() : refusedSeq;
    }

    /** True when a message was begun and not all of it is acknowledged. */
    boolean hasOnTheWay() {
        return headSeq < sendSeq || sendOffset > 0;
    }

    /** True when a message was begun and not yet fully sent. */
    boolean isMidMessage() {
        return messageEnd > sendOffset;
    }

    /** The work request being cut. */
    long sendSeq() {
        return sendSeq;
    }

    /** How much of it is cut, in bytes. */
    long sendOffset() {
        return sendOffset;
    }

    /** Bytes of the message that comes next: a WRITE or READ longer than the quota is several. */
    long nextMessageBytes(TxLease lease) {
        long left = sendQueue.length(sendSeq) - sendOffset;
        return opcode(sendSeq).hasReth() ? lease.messageBytes(left) : left;
    }

    /** Bytes left of the message that was begun. */
    long leftOfMessage() {
        return messageEnd - sendOffset;
    }

    /** Number of the message begun last. */
    int messageNumber() {
        return nextMsn - 1;
    }

    /** Slot of the message begun last, {@code DataHeader.NO_SLOT} when it is one packet. */
    int messageSlot() {
        return messageSlot;
    }

    /** Starts the next message: gives it its numbers and, when it is long, a slot of the lease. */
    void begin(TxLease lease) {
        enterLease(lease.number);
        int at = sendQueue.index(sendSeq);
        if (sendOffset == 0) {
            pendingPackets[at] = 0;
            progress[at] = OPEN;
            openPulls += opcode(sendSeq).isPull() ? 1 : 0;
        }
        messageStart = sendOffset;
        long length = nextMessageBytes(lease);
        messageEnd = sendOffset + length;
        messageSlot =
                needsSlot(lease) ? lease.messages.open(sendOffset, length) : DataHeader.NO_SLOT;
        //= MR-4.2-1
        nextMsn++;
        recvSeq[at] = wireOpcode(sendSeq, messageEnd).consumesReceive() ? nextRecvSeq++ : 0;
    }

    /** The operation of a message that ends at {@code end} of its work request. */
    Opcode wireOpcode(long seq, long end) {
        Opcode opcode = opcode(seq);
        //= MR-4.2-12
        return opcode == Opcode.WRITE_IMM && end < sendQueue.length(seq) ? Opcode.WRITE : opcode;
    }

    /** One packet of {@code bytes} was cut; returns true when it was the last of its request. */
    boolean cut(int bytes) {
        int at = sendQueue.index(sendSeq);
        pendingPackets[at]++;
        sendOffset += bytes;
        if (sendOffset < sendQueue.length(sendSeq)) {
            return false;
        }
        progress[at] = SENT;
        sendSeq++;
        cutFrom(0);
        return true;
    }

    /**
     * The next message, whole and in one packet, went along with the request for a lease and was
     * executed; it is the first of the stream in this lease.
     */
    void finishEarly(int lease) {
        enterLease(lease);
        int at = sendQueue.index(sendSeq);
        pendingPackets[at] = 0;
        nextRecvSeq += opcode(sendSeq).consumesReceive() ? 1 : 0;
        messageArrived(nextMsn++);
        progress[at] = DONE;
        sendSeq++;
        completeFinished();
    }

    /** No message is being cut; the next one starts here. */
    private void cutFrom(long offset) {
        sendOffset = offset;
        messageStart = offset;
        messageEnd = offset;
    }

    /** All packets of a message are known to have arrived. */
    void messageArrived(int messageNumber) {
        int ahead = messageNumber - missingMsn;
        if (ahead > 0) {
            WindowBitmap.set(arrivedMsn, 0, ahead - 1);
        } else {
            missingMsn += WindowBitmap.advance(arrivedMsn, 0);
        }
    }

    /** True when the target is known to have every message before this one. */
    boolean hasTurn(int messageNumber) {
        return messageNumber - missingMsn <= 0;
    }

    /** True when every request on the way is a READ, or a WRITE without immediate. */
    boolean isRepeatable() {
        long end = sendOffset > 0 ? sendSeq + 1 : sendSeq;
        for (long seq = headSeq; seq < end; seq++) {
            if (opcode(seq) != Opcode.WRITE && opcode(seq) != Opcode.READ_REQ) {
                return false;
            }
        }
        return true;
    }

    /** What is not completed is sent again, under the next lease. */
    void restart() {
        if (error) {
            return;
        }
        notReadyCount = 0;
        boolean arrived = sendSeq == headSeq && pendingPackets[sendQueue.index(headSeq)] == 0;
        if (sendOffset > 0 && arrived) {
            // What was sent of it before this message is known to be there.
            cutFrom(messageStart);
            openPulls = messageStart > 0 && opcode(sendSeq).isPull() ? 1 : 0;
        } else {
            sendSeq = headSeq;
            cutFrom(0);
            openPulls = 0;
        }
    }

    Opcode opcode(long seq) {
        return opcodeOf(sendQueue.opcode(seq));
    }

    /** The operation of a code that is known to be valid. */
    static Opcode opcodeOf(int code) {
        Opcode opcode = Opcode.of(code);
        return opcode == null ? Opcode.SKIP : opcode;
    }

    int recvSeq(long seq) {
        return recvSeq[sendQueue.index(seq)];
    }

    /**
     * One packet of request {@code seq} was acknowledged; true when the request is now finished.
     */
    boolean onPacketAcked(long seq) {
        if (error || seq < headSeq) {
            return false;
        }
        int at = sendQueue.index(seq);
        if (seq == notReadySeq) {
            notReadyCount = 0;
        }
        if (--pendingPackets[at] > 0 || progress[at] != SENT) {
            return false;
        }
        progress[at] = DONE;
        openPulls -= opcode(seq).isPull() ? 1 : 0;
        return true;
    }

    /** Reports finished requests at the head of the queue, in post order; returns how many. */
    int completeFinished() {
        int completed = 0;
        while (headSeq < sendSeq && progress[sendQueue.index(headSeq)] == DONE) {
            complete(headSeq, WcStatus.SUCCESS);
            headSeq++;
            completed++;
        }
        if (completed > 0) {
            notReadyCount = 0;
            endIfRefused();
        }
        return completed;
    }

    private void complete(long seq, WcStatus status) {
        if (status == WcStatus.SUCCESS && !sendQueue.signaled(seq)) {
            return;
        }
        sendRing.push(
                sendQueue,
                seq,
                sendQueue.wrId(seq),
                status,
                completionOf(opcode(seq)),
                status == WcStatus.SUCCESS ? sendQueue.length(seq) : 0,
                0,
                CompletionRing.Extra.NONE);
    }

    private static WcOpcode completionOf(Opcode opcode) {
        return switch (opcode) {
            case READ_REQ -> WcOpcode.READ;
            case CMP_SWAP -> WcOpcode.COMPARE_SWAP;
            case FETCH_ADD -> WcOpcode.FETCH_ADD;
            default -> opcode.hasReth() ? WcOpcode.WRITE : WcOpcode.SEND;
        };
    }

    /**
     * A request was refused. It ends with {@code status} when all before it are finished, so that
     * outcomes come in post order; nothing from it on is sent any more.
     */
    void refuse(long seq, WcStatus status) {
        if (!error && (refusedSeq == NONE || seq < refusedSeq)) {
            refusedSeq = seq;
            refusedStatus = status;
            sendSeq = seq;
            cutFrom(0);
            endIfRefused();
        }
    }

    private void endIfRefused() {
        if (headSeq == refusedSeq) {
            fail(refusedStatus);
        }
    }

    /** The connection or the queue pair ended: flushes what is left and gives room back. */
    void end(WcStatus oldest) {
        ended = true;
        fail(oldest);
    }

    /**
     * Puts the stream into the error state: the oldest request ends with {@code oldest}, all others
     * are flushed, in post order. Flushes again what was posted since, when it is in that state.
     */
    void fail(WcStatus oldest) {
        WcStatus status = error ? WcStatus.WR_FLUSH_ERROR : oldest;
        ERROR.setVolatile(this, true);
        // Whoever posted before it could see the error is seen here, and the other way round.
        VarHandle.fullFence();
        cutFrom(0);
        if (sendRoom().resume()) {
            for (long tail = sendQueue.tail(); headSeq < tail; headSeq++) {
                complete(headSeq, status);
                status = WcStatus.WR_FLUSH_ERROR;
            }
        }
        sendSeq = headSeq;
        if (receiveRoom().resume()) {
            flushReceives(NONE);
        }
        if (ended) {
            sendRoom().end();
            receiveRoom().end();
        }
    }

    private void flushReceives(long spoilt) {
        long tail = receiveQueue.tail();
        for (; rxHead < tail; rxHead++) {
            receiveRing.push(
                    receiveQueue,
                    rxHead,
                    receiveQueue.wrId(rxHead),
                    rxHead == spoilt ? spoiltStatus : WcStatus.WR_FLUSH_ERROR,
                    WcOpcode.RECEIVE,
                    0,
                    0,
                    CompletionRing.Extra.NONE);
        }
    }

    // Target

    /** Called before a packet is looked at: message and receive numbers start with the lease. */
    void enterRxLease(int lease) {
        if (rxLease != lease) {
            rxLease = lease;
            rxNextMsn = 0;
            WindowBitmap.clear(rxDone, 0);
            spoiltSeq = NONE;
            //= MR-4.2-6
            rxBase = rxHead;
        }
    }

    /** True when the message number is one the initiator may use now and is not finished. */
    boolean isOpenMessage(int messageNumber) {
        int ahead = messageNumber - rxNextMsn;
        return ahead == 0
                || (ahead > 0 && ahead < MESSAGE_WINDOW && !WindowBitmap.get(rxDone, 0, ahead - 1));
    }

    /** The oldest message that is not complete: READs and atomics of it are executed now. */
    int turnMsn() {
        return rxNextMsn;
    }

    /** How far this message is ahead of the oldest that is not complete: 0 has its turn now. */
    int aheadOfTurn(int messageNumber) {
        return messageNumber - rxNextMsn;
    }

    /**
     * Sequence number in the receive queue of the receive with this wire number, or -1: none
     * posted.
     */
    long postedReceive(int wireNumber) {
        long seq = rxBase + Integer.toUnsignedLong(wireNumber);
        return seq >= rxHead && seq < receiveQueue.tail() ? seq : -1;
    }

    /** The message in receive {@code seq} is complete; it is reported when its turn comes. */
    void receiveFilled(long seq, Opcode opcode, int messageNumber, long bytes) {
        int at = receiveQueue.index(seq);
        rxBytes[at] = bytes;
        rxMsn[at] = messageNumber;
        rxOpcode[at] = (byte) opcode.code();
    }

    /** The packet that carries the immediate of receive {@code seq} came, maybe before others. */
    void immediateArrived(long seq, int immediate) {
        rxImmediate[receiveQueue.index(seq)] = immediate;
    }

    /** The message in receive {@code seq} takes the remote rights from {@code target}. */
    void invalidates(long seq, MemoryRegion target) {
        if (rxInvalidates == null) {
            rxInvalidates = new MemoryRegion[receiveQueue.slots()];
        }
        rxInvalidates[receiveQueue.index(seq)] = target;
    }

    /**
     * A message was completely placed; completes receives whose turn has come. True when the stream
     * ended with that, as {@link #receiveSpoilt} says.
     */
    boolean messageDone(int messageNumber) {
        int ahead = messageNumber - rxNextMsn;
        if (ahead > 0) {
            WindowBitmap.set(rxDone, 0, ahead - 1);
            return false;
        }
        rxNextMsn += WindowBitmap.advance(rxDone, 0);
        long tail = receiveQueue.tail();
        while (rxHead < tail && isReportable(receiveQueue.index(rxHead))) {
            reportReceive();
        }
        return endIfSpoilt();
    }

    private boolean isReportable(int at) {
        return rxOpcode[at] != 0 && rxMsn[at] - rxNextMsn < 0;
    }

    private void reportReceive() {
        int at = receiveQueue.index(rxHead);
        Opcode opcode = opcodeOf(rxOpcode[at]);
        rxOpcode[at] = 0;
        CompletionRing.Extra extra = CompletionRing.Extra.NONE;
        int value = 0;
        if (opcode.carriesImmediate()) {
            extra = CompletionRing.Extra.IMMEDIATE;
            value = rxImmediate[at];
        } else if (opcode.invalidates()) {
            extra = CompletionRing.Extra.INVALIDATED;
            value = invalidate(at);
        }
        receiveRing.push(
                receiveQueue,
                rxHead,
                receiveQueue.wrId(rxHead),
                WcStatus.SUCCESS,
                opcode.hasReth() ? WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE : WcOpcode.RECEIVE,
                rxBytes[at],
                value,
                extra);
        rxHead++;
    }

    /** Before the application is told of it. Returns the key that is dead from now on. */
    private int invalidate(int at) {
        //= MR-4.9-6
        MemoryRegion target = rxInvalidates == null ? null : rxInvalidates[at];
        if (target == null) {
            return 0;
        }
        target.revoke();
        return target.rkey();
    }

    /**
     * A receive cannot take its message: too short, or its memory is gone. It ends with this error,
     * and the stream with it, when all messages before it are complete; true when that is now.
     */
    boolean receiveSpoilt(long seq, int messageNumber, WcStatus status) {
        if (spoiltSeq == NONE || messageNumber - spoiltMsn < 0) {
            spoiltSeq = seq;
            spoiltMsn = messageNumber;
            spoiltStatus = status;
        }
        return endIfSpoilt();
    }

    private boolean endIfSpoilt() {
        //= MR-4.1-3
        if (error || spoiltSeq == NONE || rxNextMsn != spoiltMsn) {
            return false;
        }
        flushReceives(spoiltSeq);
        fail(WcStatus.WR_FLUSH_ERROR);
        return true;
    }
}
