package dev.metaroce.transport;

import dev.metaroce.wire.AddressList;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * The planes on which a peer is reached when one of both has several addresses: for each an address
 * of the peer, seen from an address of ours. Owner: the engine thread.
 */
final class PeerPlanes {
    private final NetAddress[] planes;

    /** By plane: the peer answered from there, and no path left it since. */
    private int proved;

    /** Where the peer was heard last. */
    private int last;

    /** By path of the peer's lease: the plane of its last packet. */
    private final byte[] ofPath = new byte[DeviceLimits.MAX_PATHS];

    private PeerPlanes(NetAddress[] planes) {
        this.planes = planes;
    }

    /**
     * @param known where the peer was dialled or heard first
     * @param theirs addresses of which it told; they do not count when the peer is known by another
     *     one, because something between us translates addresses
     * @param own how many addresses we have
     * @return null when there is but one plane
     */
    static @Nullable PeerPlanes of(NetAddress known, NetAddress[] theirs, int own) {
        int at = indexOf(known, theirs);
        int their = at < 0 ? 1 : theirs.length;
        int count = Math.min(Math.max(own, their), AddressList.MAX);
        if (count == 1) {
            return null;
        }
        NetAddress[] planes = new NetAddress[count];
        for (int i = 0; i < count; i++) {
            //= MR-3.10-3, MR-3.10-4
            NetAddress address = at < 0 ? known : theirs[i % their];
            planes[i] = address.onPlane(Math.floorMod(known.plane() + i - Math.max(0, at), own));
        }
        PeerPlanes made = new PeerPlanes(planes);
        made.hear(known);
        return made;
    }

    private static int indexOf(NetAddress known, NetAddress[] theirs) {
        for (int i = 0; i < theirs.length; i++) {
            if (theirs[i].sameHost(known)) {
                return i;
            }
        }
        return -1;
    }

    int count() {
        return planes.length;
    }

    int lastHeard() {
        return last;
    }

    NetAddress at(int plane) {
        return planes[plane];
    }

    /** The plane on which a packet came, or -1 when its sender is no address of the peer. */
    private int find(NetAddress source) {
        int host = -1;
        for (int i = 0; i < planes.length; i++) {
            if (planes[i].sameHost(source)) {
                if (planes[i].plane() == source.plane()) {
                    return i;
                }
                host = i;
            }
        }
        return host;
    }

    /** True when the peer has this address. */
    boolean has(NetAddress source) {
        return find(source) >= 0;
    }

    /** The peer was heard. */
    void hear(NetAddress source) {
        int plane = find(source);
        if (plane >= 0) {
            last = plane;
            proved |= 1 << plane;
        }
    }

    /** A packet of a path of the peer's lease came. */
    void hear(int path, NetAddress source) {
        hear(source);
        ofPath[path] = (byte) last;
    }

    /** Where to answer what came on a path of the peer's lease. */
    NetAddress of(int path) {
        return planes[ofPath[path]];
    }

    /** Where the peer was heard last; others in turn when that was in vain so often. */
    NetAddress address(int failures) {
        return planes[(last + failures) % planes.length];
    }

    /** A path left a plane that did not answer. */
    void leave(int plane) {
        proved &= ~(1 << plane);
    }

    /** True when data may go to a plane: it is known that the peer is there. */
    boolean isProved(int plane) {
        return (proved >>> plane & 1) != 0;
    }
}
