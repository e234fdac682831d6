package dev.metaroce.net;

import dev.metaroce.util.Rng;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayDeque;
import java.util.List;

/**
 * One direction of a {@link FaultRelay}: decides about each packet, sends it or keeps it, and
 * counts. Owned by the relay's thread.
 */
final class RelayLane {
    /** A packet held back for others goes on after this time even if none came. */
    static final long SWAP_NS_MAX = 20_000_000;

    private static final int SEND_RETRIES_MAX = 256;

    private final boolean toTarget;
    private final DatagramChannel clientSide;
    private final InetSocketAddress target;
    private final PacketStore store;

    // One generator per fault, so that switching one on does not shift the others.
    private final Rng dropRng;
    private final Rng corruptRng;
    private final Rng bitRng;
    private final Rng duplicateRng;
    private final Rng reorderRng;
    private final Rng jitterRng;

    private final ArrayDeque<StoredPacket> held = new ArrayDeque<>();
    private Faults faults = Faults.NONE;
    private long[] skewNs = new long[0];
    private boolean delays;
    private PacketFilter filter;
    private int burstLeft;
    private long bursts;

    private long received;
    private long receivedBytes;
    private long forwarded;
    private long forwardedBytes;
    private long dropped;
    private long duplicated;
    private long reordered;
    private long corrupted;
    private long blackHoled;
    private long overflowed;
    private long sendFailed;
    private long injected;
    private long pending;

    /**
     * @param clientSide the socket that clients send to
     * @param rng of this direction alone
     */
    RelayLane(
            boolean toTarget,
            DatagramChannel clientSide,
            InetSocketAddress target,
            PacketStore store,
            Rng rng,
            PacketFilter filter) {
        this.toTarget = toTarget;
        this.clientSide = clientSide;
        this.target = target;
        this.store = store;
        this.filter = filter;
        dropRng = rng.fork("drop");
        corruptRng = rng.fork("corrupt");
        bitRng = rng.fork("bit");
        duplicateRng = rng.fork("duplicate");
        reorderRng = rng.fork("reorder");
        jitterRng = rng.fork("jitter");
    }

    void faults(Faults value) {
        faults = value;
        skewNs = value.skewNs().stream().mapToLong(Long::longValue).toArray();
        delays = value.delayNs() > 0 || value.jitterNs() > 0 || skewNs.length > 0;
        burstLeft = 0;
        bursts = 0;
    }

    void filter(PacketFilter value) {
        filter = value;
    }

    /** A packet arrived: its bytes are those of the buffer from 0 to its limit. */
    void onPacket(ByteBuffer packet, RelayClient client) {
        int bytes = packet.limit();
        received++;
        receivedBytes += bytes;
        PacketFilter.Verdict verdict = filter.onPacket(toTarget, packet, client.index);
        packet.limit(bytes).position(0);
        if (verdict == PacketFilter.Verdict.DROP) {
            dropped++;
        } else if (verdict == PacketFilter.Verdict.HOLD) {
            hold(packet, client);
        } else if (client.blackHole) {
            blackHoled++;
        } else {
            switch (verdict) {
                case PASS -> meetFaults(packet, client, bytes);
                case FORWARD -> forward(packet, client, 1);
                case DUPLICATE -> {
                    duplicated++;
                    forward(packet, client, 2);
                }
                case CORRUPT -> {
                    corrupt(packet, bytes);
                    forward(packet, client, 1);
                }
                case SWAP -> letOthersPass(packet, client, 1, 1);
                case DROP, HOLD -> {} // dealt with above: they do not reach the black hole
            }
        }
    }

    /** A packet whose socket could not be opened. */
    void onRefused(int bytes) {
        received++;
        receivedBytes += bytes;
        sendFailed++;
    }

    private void meetFaults(ByteBuffer packet, RelayClient client, int bytes) {
        Faults f = faults;
        // All draws first: what one fault decides must not depend on another's decision.
        boolean dropIt = f.dropRate() > 0 && dropRng.chance(f.dropRate());
        boolean corruptIt = f.corruptRate() > 0 && corruptRng.chance(f.corruptRate());
        boolean duplicateIt = f.duplicateRate() > 0 && duplicateRng.chance(f.duplicateRate());
        boolean reorderIt = f.reorderRate() > 0 && reorderRng.chance(f.reorderRate());

        if (isTooLong(f, bytes) || isInBurst(f) || isNth(f.dropEvery()) || dropIt) {
            dropped++;
            return;
        }
        if (corruptIt) {
            corrupt(packet, bytes);
        }
        int copies = 1;
        if (duplicateIt) {
            copies += f.duplicateCopies();
            duplicated += f.duplicateCopies();
        }
        if (reorderIt || isNth(f.reorderEvery())) {
            letOthersPass(packet, client, copies, f.reorderDistance());
        } else {
            forward(packet, client, copies);
        }
    }

    private static boolean isTooLong(Faults f, int bytes) {
        return f.datagramBytesMax() > 0 && bytes > f.datagramBytesMax();
    }

    private boolean isNth(int every) {
        return every > 0 && received % every == 0;
    }

    private boolean isInBurst(Faults f) {
        if (burstLeft > 0) {
            burstLeft--;
            return true;
        }
        if (isNth(f.burstEvery()) && (f.burstsMax() == 0 || bursts < f.burstsMax())) {
            bursts++;
            burstLeft = f.burstLength() - 1;
            return true;
        }
        return false;
    }

    private void corrupt(ByteBuffer packet, int bytes) {
        if (bytes == 0) {
            return;
        }
        int bit = bitRng.nextInt(bytes * 8);
        packet.put(bit >> 3, (byte) (packet.get(bit >> 3) ^ (1 << (bit & 7))));
        corrupted++;
    }

    private void hold(ByteBuffer packet, RelayClient client) {
        StoredPacket stored = keep(packet, client, 1);
        if (stored != null) {
            held.add(stored);
        }
    }

    /** Sends up to {@code max} packets kept by the filter, oldest first; returns how many. */
    int release(int max) {
        int n = 0;
        while (n < max && !held.isEmpty()) {
            sendStored(held.remove());
            n++;
        }
        return n;
    }

    private void letOthersPass(ByteBuffer packet, RelayClient client, int copies, int passes) {
        StoredPacket stored = keep(packet, client, copies);
        if (stored != null) {
            stored.passesLeft = passes;
            swapsOf(client).add(stored);
            store.enqueue(stored, System.nanoTime() + SWAP_NS_MAX);
        }
    }

    private List<StoredPacket> swapsOf(RelayClient client) {
        return toTarget ? client.swapsToTarget : client.swapsToClient;
    }

    private void forward(ByteBuffer packet, RelayClient client, int copies) {
        if (delays) {
            long delayNs = delayNsOf(client);
            StoredPacket stored = keep(packet, client, copies);
            if (stored != null) {
                store.enqueue(stored, System.nanoTime() + delayNs);
            }
        } else {
            send(packet, client, copies);
        }
        if (!swapsOf(client).isEmpty()) {
            passSwaps(client);
        }
    }

    private long delayNsOf(RelayClient client) {
        long ns = faults.delayNs();
        if (faults.jitterNs() > 0) {
            ns += (long) (jitterRng.nextDouble() * faults.jitterNs());
        }
        if (skewNs.length > 0) {
            ns += skewNs[client.index % skewNs.length];
        }
        return ns;
    }

    /** A packet went past those held back: the ones passed often enough follow it. */
    private void passSwaps(RelayClient client) {
        List<StoredPacket> swaps = swapsOf(client);
        for (int i = 0; i < swaps.size(); i++) {
            StoredPacket stored = swaps.get(i);
            if (--stored.passesLeft > 0) {
                continue;
            }
            swaps.remove(i--);
            reordered++;
            pending -= stored.copies;
            if (delays) {
                // Its place in the delay line is that of its time-out; it needs another one.
                StoredPacket again = keep(stored.bytes, client, stored.copies);
                if (again != null) {
                    store.enqueue(again, System.nanoTime() + delayNsOf(client));
                }
            } else {
                send(stored.bytes, client, stored.copies);
            }
            stored.done = true;
        }
    }

    private @Nullable StoredPacket keep(ByteBuffer packet, RelayClient client, int copies) {
        StoredPacket stored = store.copyOf(packet, this, client, copies);
        if (stored == null) {
            overflowed += copies;
        } else {
            pending += copies;
        }
        return stored;
    }

    /** The time of a stored packet has come. */
    void onDue(StoredPacket stored) {
        if (stored.done) {
            store.recycle(stored);
            return;
        }
        RelayClient client = stored.client;
        if (client != null && stored.passesLeft > 0) {
            swapsOf(client).remove(stored);
        }
        sendStored(stored);
    }

    private void sendStored(StoredPacket stored) {
        pending -= stored.copies;
        RelayClient client = stored.client;
        if (client != null) {
            send(stored.bytes, client, stored.copies);
        }
        store.recycle(stored);
    }

    /** Sends a packet that no client and no target sent. */
    void inject(ByteBuffer packet, RelayClient client) {
        injected++;
        send(packet, client, 1);
    }

    private void send(ByteBuffer packet, RelayClient client, int copies) {
        DatagramChannel channel = toTarget ? client.upstream : clientSide;
        InetSocketAddress to = toTarget ? target : client.address;
        int bytes = packet.limit();
        for (int i = 0; i < copies; i++) {
            packet.position(0);
            if (sendOnce(channel, packet, to)) {
                forwarded++;
                forwardedBytes += bytes;
            } else {
                sendFailed++;
            }
        }
    }

    private static boolean sendOnce(
            DatagramChannel channel, ByteBuffer packet, InetSocketAddress to) {
        int bytes = packet.limit();
        try {
            for (int i = 0; i <= SEND_RETRIES_MAX; i++) {
                // An empty datagram that was sent and one that was not both return 0; take it as
                // sent.
                if (channel.send(packet, to) == bytes) {
                    return true;
                }
                Thread.onSpinWait();
            }
        } catch (IOException | UnsupportedAddressTypeException e) {
            return false;
        }
        return false;
    }

    RelayStats.Direction stats() {
        return new RelayStats.Direction(
                received,
                receivedBytes,
                forwarded,
                forwardedBytes,
                dropped,
                duplicated,
                reordered,
                corrupted,
                blackHoled,
                overflowed,
                sendFailed,
                injected,
                pending);
    }
}
