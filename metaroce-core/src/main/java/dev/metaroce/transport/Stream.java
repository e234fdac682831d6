package dev.metaroce.transport;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.WorkQueue;

/** One ordered stream of messages of a connection (skeleton). */
public final class Stream {
    private final int id;
    private final DoorbellList.Bell bell = new DoorbellList.Bell(this);
    private final WorkQueue sendQueue;
    private final WorkQueue receiveQueue;
    private Object attachment = this;

    Stream(int id, int sendDepth, int receiveDepth) {
        this.id = id;
        sendQueue = new WorkQueue(this, sendDepth);
        receiveQueue = new WorkQueue(this, receiveDepth);
    }

    public int id() { return id; }
    public DoorbellList.Bell bell() { return bell; }
    public WorkQueue sendQueue() { return sendQueue; }
    public WorkQueue receiveQueue() { return receiveQueue; }
    public boolean inError() { return false; }
    public void attach(Object pair) { attachment = pair; }
}
