package dev.metaroce.transport;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.wire.NetAddress;

/** Skeleton. */
public final class TransportConnection {
    public ConnectionState state() { throw new IllegalStateException(); }
    public String failure() { return ""; }
    public NetAddress peer() { throw new IllegalStateException(); }
    public byte[] peerPrivateData() { return new byte[0]; }
    public int payloadMtu() { return 0; }
    public int paths() { return 0; }
    public int cid() { return -1; }
    public Stream addStream(int domain, CompletionRing send, CompletionRing receive, int sendDepth, int receiveDepth) { throw new IllegalStateException(); }
}
