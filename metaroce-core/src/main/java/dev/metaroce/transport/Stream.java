package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.util.ReadyList;
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
public final class Stream extends ReadyList.Item<Stream> implements ProtocolQueue {
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

    private final StreamSlot slot;
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

    /** As initiator: the messages that are known to have arrived whole. */
    final MessageWindow sent = new MessageWindow();

    private int nextRecvSeq;
    private int txLease;

    /** READs and atomics begun and not finished. */
    private int openPulls;

    private final int[] pendingPackets;
    private final int[] recvSeq;
    private final byte[] progress;

    /** Not before this time may the stream send again: the target had no receive posted. */
    long pausedUntilNs;

    /**
     * How often in a row the target had no receive for the packet refused first; 0 when the oldest
     * request is a new one.
     */
    int notReadyCount;

    /** The packet that was refused first, meaningful while notReadyCount is not 0. */
    @Nullable TxPath notReadyPath;

    int notReadyPsn;

    /** The request that was refused first, meaningful while notReadyCount is not 0. */
    long notReadySeq;

    /** Since when the target has had no receive, meaningful while notReadyCount is not 0. */
    long notReadySinceNs;

    // Target
    private int rxLease;

    /** As target: the messages that are complete. */
    final MessageWindow received = new MessageWindow();

    private long rxHead;
    private long rxBase;
    private long spoiltSeq = NONE;
    private int spoiltMsn;
    private WcStatus spoiltStatus = WcStatus.SUCCESS;

    /** First of the READs and atomics that came before their turn, for {@link DeferredPulls}. */
    int deferredPulls = DeferredPulls.NONE;

    private final FilledReceives filled;

    Stream(StreamSlot slot) {
        this.slot = slot;
        connection = slot.connection();
        settings = slot.settings();
        sendRing = slot.sendRoom().ring();
        receiveRing = slot.receiveRoom().ring();
        sendQueue = settings.sendQueue(this);
        receiveQueue = settings.receiveQueue(this);
        int slots = sendQueue.slots();
        pendingPackets = new int[slots];
        recvSeq = new int[slots];
        progress = new byte[slots];
        filled = new FilledReceives(receiveQueue);
    }

    public int id() {
        return slot.id();
    }

    @Override
    public DoorbellList.Bell bell() {
        return bell;
    }

    @Override
    public WorkQueue sendQueue() {
        return sendQueue;
    }

    @Override
    public WorkQueue receiveQueue() {
        return receiveQueue;
    }

    @Override
    public boolean inError() {
        return (boolean) ERROR.getAcquire(this);
    }

    @Override
    public boolean missedFlush() {
        VarHandle.fullFence();
        return inError();
    }

    /** Sets what completions name as their owner; once, before work is posted. */
    public void attach(Object pair) {
        sendQueue.owner(pair);
        receiveQueue.owner(pair);
    }

    @Override
    public TransportConnection connection() {
        return connection;
    }

    int domain() {
        return settings.domain();
    }

    StreamSettings settings() {
        return settings;
    }

    @Override
    public void close() {
        closing = true;
    }

    boolean isClosing() {
        return closing;
    }

    /** The packets on the way are counted as full ones. */
    @Override
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
            sent.reset();
            nextRecvSeq = 0;
        }
    }

    /**
     * True when a packet of this stream could be cut now.
     *
     * @param newMessages false while only messages begun may go on
     */
    boolean hasWork(boolean newMessages, TxLease lease) {
        if (error || notReadyCount > 0) {
            return false;
        }
        if (isMidMessage()) {
            return true;
        }
        //= MR-4.2-3
        return newMessages
                && sendSeq < end()
                && (txLease != lease.number || sent.ahead(nextMsn) < MessageWindow.SIZE)
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
            if (bytes >= most || seq - sendSeq == MessageWindow.SIZE) {
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
        //= MR-4.2-12
        return opcode(sendSeq).consumesReceive() ? left : lease.messageBytes(left);
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
        recvSeq[at] = opcode(sendSeq).consumesReceive() ? nextRecvSeq++ : 0;
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
        sent.complete(nextMsn++);
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
        return Opcode.ofValid(sendQueue.opcode(seq));
    }

    int recvSeq(long seq) {
        return recvSeq[sendQueue.index(seq)];
    }

    /** The target took a packet of this request; true when the stream had waited for that. */
    boolean endsWait(long seq) {
        boolean waited = notReadyCount > 0 && seq == notReadySeq;
        notReadyCount = waited ? 0 : notReadyCount;
        return waited;
    }

    /**
     * One packet of request {@code seq} was acknowledged; true when the request is now finished.
     */
    boolean onPacketAcked(long seq) {
        if (error || seq < headSeq) {
            return false;
        }
        int at = sendQueue.index(seq);
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
            sendRing.pushSend(sendQueue, headSeq, WcStatus.SUCCESS);
            headSeq++;
            completed++;
        }
        if (completed > 0) {
            endIfRefused();
        }
        return completed;
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
        boolean first = !ended;
        ended = true;
        fail(oldest);
        SharedReceives shared = settings.shared();
        if (first && shared != null) {
            shared.leave();
        }
    }

    /**
     * Puts the stream into the error state: the oldest request ends with {@code oldest}, all others
     * are flushed, in post order. Flushes again what was posted since, when it is in that state.
     */
    void fail(WcStatus oldest) {
        WcStatus status = error ? WcStatus.WR_FLUSH_ERROR : oldest;
        boolean isNew = !error && !connection.isEnded();
        ERROR.setVolatile(this, true);
        // Whoever posted before it could see the error is seen here, and the other way round.
        VarHandle.fullFence();
        cutFrom(0);
        if (slot.sendRoom().resume()) {
            for (long tail = sendQueue.tail(); headSeq < tail; headSeq++) {
                sendRing.pushSend(sendQueue, headSeq, status);
                status = WcStatus.WR_FLUSH_ERROR;
            }
        }
        sendSeq = headSeq;
        if (slot.receiveRoom().resume()) {
            flushReceives(NONE);
        }
        if (ended) {
            slot.sendRoom().end();
            if (settings.shared() == null) {
                slot.receiveRoom().end();
            }
        }
        if (isNew) {
            WcStatus why = spoiltSeq == NONE ? oldest : spoiltStatus;
            connection.notices.raise(AsyncEventType.QP_FATAL, this, why.toString());
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
            received.reset();
            spoiltSeq = NONE;
            //= MR-4.2-6
            rxBase = rxHead;
        }
    }

    /**
     * Sequence number in the receive queue of the receive with this wire number, or -1: none
     * posted.
     */
    long postedReceive(int wireNumber) {
        long seq = rxBase + Integer.toUnsignedLong(wireNumber);
        SharedReceives shared = settings.shared();
        //= MR-4.9-9, MR-4.9-11
        if (shared != null && seq - rxHead < MessageWindow.SIZE) {
            takeThrough(seq, shared);
        }
        return seq >= rxHead && seq < receiveQueue.tail() ? seq : -1;
    }

    /**
     * Takes receives for this message and all before it that have none. Were only this one to take
     * one, it could be the last, and wait for ever for an earlier message that finds none.
     */
    private void takeThrough(long seq, SharedReceives shared) {
        //= MR-4.9-10
        while (receiveQueue.tail() <= seq && shared.take(receiveQueue, rxHead)) {
            filled.followGrowth(rxHead);
        }
    }

    FilledReceives filled() {
        return filled;
    }

    /**
     * A message was completely placed; completes receives whose turn has come. True when the stream
     * ended with that, as {@link #receiveSpoilt} says.
     */
    boolean messageDone(int messageNumber) {
        if (!received.complete(messageNumber)) {
            return false;
        }
        long tail = receiveQueue.tail();
        while (rxHead < tail && filled.isReportable(rxHead, received.oldest())) {
            filled.report(rxHead, receiveRing);
            rxHead++;
        }
        return endIfSpoilt();
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
        if (error || spoiltSeq == NONE || received.oldest() != spoiltMsn) {
            return false;
        }
        //= MR-4.9-12
        flushReceives(spoiltSeq);
        fail(WcStatus.WR_FLUSH_ERROR);
        return true;
    }
}
