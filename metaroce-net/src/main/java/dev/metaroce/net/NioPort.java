package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import jdk.net.ExtendedSocketOptions;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * UDP sockets for one engine by the plain JDK: the device's own socket (route 0), to which peers
 * send, and path sockets (routes 1..n) on ports of their own, from which the network may pick
 * different ways.
 *
 * <p>Owner: one thread calls {@link #receive}, {@link #send} and {@link #select}. Any thread may
 * call {@link #wakeup}, {@link #stats}, {@link #close} and the queries. Nothing allocates per
 * packet but the JDK itself, which makes an address object when the sender is another than that of
 * the datagram before.
 *
 * <p>Limits: congestion marks are neither set nor seen, since the JDK cannot read them. A port
 * bound to the wildcard address answers from the address the route gives it; on a machine with
 * several addresses bind the one that peers use.
 */
public final class NioPort implements AutoCloseable {
    /** What socket buffers are asked for: some milliseconds of a 10 Gb/s link. */
    public static final int WANTED_BUFFER_BYTES = 4 << 20;

    private static final int SLOT_BYTES = 65_536;
    private static final int CACHE_ENTRIES = 4096;

    /**
     * Time between two looks at the path sockets, where only strays arrive. Time and not turns: a
     * thread that moves hundreds of devices comes round to each of them rarely.
     */
    private static final long PATH_LOOK_NS = 1_000_000;

    /** Most datagrams taken from one path socket per look. */
    private static final int PATH_DATAGRAMS_MAX = 16;

    /** Datagrams that share one reading of the clock. */
    private static final int DATAGRAMS_PER_CLOCK = 8;

    /** How often a send is tried again when the socket buffer is full. */
    private static final int SEND_RETRIES_MAX = 64;

    private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int RX_DATAGRAMS = 0;
    private static final int RX_BYTES = 1;
    private static final int RX_ERRORS = 2;
    private static final int TX_DATAGRAMS = 3;
    private static final int TX_BYTES = 4;
    private static final int TX_FULL = 5;
    private static final int TX_DROPPED = 6;
    private static final int TX_ERRORS = 7;
    private static final int COUNTS = 8;

    private final DatagramChannel[] channels;
    private final int[] routePorts;
    private final InetSocketAddress localAddress;
    private final Selector selector;
    private final List<String> warnings = new ArrayList<>();
    private final boolean forbidsFragments;
    private final int receiveBufferBytes;
    private final int sendBufferBytes;

    private final PacketMemory slot = new PacketMemory(SLOT_BYTES);
    private final ByteBuffer slotView = slot.bytes().duplicate();
    private final AddressCache sources = new AddressCache(CACHE_ENTRIES);
    private final AddressCache targets = new AddressCache(CACHE_ENTRIES);
    private final Consumer<SelectionKey> onReady = this::noteReady;
    private final int[] readyPaths;
    private final long[] counts = new long[COUNTS];
    private int readyPathCount;
    private long pathLookNs = System.nanoTime();
    private @Nullable TxBatch viewedBatch;
    private @Nullable ByteBuffer batchView;
    private @Nullable InetSocketAddress lastSocket;
    private @Nullable NetAddress lastSource;
    private volatile String lastError = "";
    private volatile boolean open = true;

    /** Sockets opened so far, so that a failure half-way closes them all. */
    private static final class Opened {
        final List<DatagramChannel> channels = new ArrayList<>();

        void closeAll() {
            for (DatagramChannel channel : channels) {
                closeQuietly(channel);
            }
        }
    }

    private NioPort(Opened opened, Selector selector, int bufferBytes) throws IOException {
        int n = opened.channels.size();
        channels = opened.channels.toArray(new DatagramChannel[0]);
        routePorts = new int[n];
        readyPaths = new int[n];
        this.selector = selector;
        boolean whole = true;
        for (int route = 0; route < n; route++) {
            DatagramChannel channel = channels[route];
            channel.configureBlocking(false);
            whole &= forbidFragments(channel);
            channel.setOption(StandardSocketOptions.SO_SNDBUF, bufferBytes);
            routePorts[route] = ((InetSocketAddress) channel.getLocalAddress()).getPort();
            channel.register(selector, SelectionKey.OP_READ, route);
        }
        forbidsFragments = whole;
        if (!whole) {
            warnings.add(
                    "this system cannot forbid IP fragments: a loss costs more than one packet");
        }
        localAddress = (InetSocketAddress) channels[0].getLocalAddress();
        channels[0].setOption(StandardSocketOptions.SO_RCVBUF, bufferBytes);
        receiveBufferBytes = channels[0].getOption(StandardSocketOptions.SO_RCVBUF);
        sendBufferBytes = channels[0].getOption(StandardSocketOptions.SO_SNDBUF);
        warnIfSmall("receive", "net.core.rmem_max", receiveBufferBytes);
        warnIfSmall("send", "net.core.wmem_max", sendBufferBytes);
    }

    /**
     * Opens the sockets.
     *
     * @param bind address of the device's socket; port 0 takes any free one
     * @param routes path sockets beside the device's own, 0..1024
     * @param bufferBytes size asked for each socket buffer
     * @throws NetSetupException when an address cannot be bound
     */
    public static NioPort open(InetSocketAddress bind, int routes, int bufferBytes) {
        Opened opened = new Opened();
        Selector selector = null;
        try {
            selector = Selector.open();
            for (int route = 0; route <= routes; route++) {
                DatagramChannel channel = DatagramChannel.open();
                opened.channels.add(channel);
                channel.bind(route == 0 ? bind : new InetSocketAddress(bind.getAddress(), 0));
            }
            return new NioPort(opened, selector, bufferBytes);
        } catch (IOException | UnsupportedAddressTypeException e) {
            opened.closeAll();
            closeQuietly(selector);
            throw new NetSetupException(cannotBind(bind, opened.channels.size(), e), e);
        }
    }

    static String cannotBind(InetSocketAddress bind, int opened, Exception cause) {
        String reason = String.valueOf(cause.getMessage());
        String lower = reason.toLowerCase(Locale.ROOT);
        String advice;
        if (lower.contains("in use")) {
            advice = "another program has it; stop that one or choose another port";
        } else if (lower.contains("permission")) {
            advice = "this user may not use it; choose a port above 1023";
        } else if (lower.contains("assign")) {
            advice = "this machine has no such address; choose one of its own or 0.0.0.0";
        } else if (lower.contains("too many open files")) {
            advice = "the limit of open files is too low (ulimit -n); raise it or use fewer paths";
        } else if (cause instanceof BindException) {
            advice = "choose another address or port";
        } else {
            advice = "check the address and the limits of this process";
        }
        return "cannot open UDP "
                + (opened <= 1 ? "" : "path socket " + (opened - 1) + " of ")
                + bind.getAddress().getHostAddress()
                + " port "
                + bind.getPort()
                + ": "
                + reason
                + ": "
                + advice;
    }

    /** True when the system now refuses to cut datagrams of this socket. */
    private static boolean forbidFragments(DatagramChannel channel) throws IOException {
        if (!channel.supportedOptions().contains(ExtendedSocketOptions.IP_DONTFRAGMENT)) {
            return false;
        }
        channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true);
        return channel.getOption(ExtendedSocketOptions.IP_DONTFRAGMENT);
    }

    private void warnIfSmall(String side, String sysctl, int hasBytes) {
        if (hasBytes < WANTED_BUFFER_BYTES / 2) {
            warnings.add(
                    "small socket "
                            + side
                            + " buffer: has "
                            + hasBytes
                            + " bytes, wants "
                            + WANTED_BUFFER_BYTES
                            + "; raise it by: sysctl -w "
                            + sysctl
                            + "="
                            + WANTED_BUFFER_BYTES);
        }
    }

    /** Address and port of the device's socket; the wildcard address if it was bound to that. */
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    /** Sending sockets: the device's own and the path sockets. */
    public int routes() {
        return channels.length;
    }

    /**
     * UDP source port of a route.
     *
     * @param route 0 for the device's own socket, 1.. for path sockets
     */
    public int routePort(int route) {
        return routePorts[route];
    }

    /** Size of the receive buffer of the device's socket as the system reports it. */
    public int receiveBufferBytes() {
        return receiveBufferBytes;
    }

    /** Size of the send buffer of each socket as the system reports it. */
    public int sendBufferBytes() {
        return sendBufferBytes;
    }

    /** True when datagrams longer than a link are refused instead of being cut. */
    boolean forbidsFragments() {
        return forbidsFragments;
    }

    /** One line each for what this machine grants less of than wanted. */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    /** False after {@link #close}. */
    public boolean isOpen() {
        return open;
    }

    /**
     * Hands the waiting datagrams to {@code sink}, without blocking. Datagrams without bytes are
     * handed on too. The path sockets are looked at every few calls, or when a {@link #select} told
     * that something is there.
     *
     * @param datagramsMax most datagrams taken from the device's socket
     * @return datagrams handed over
     */
    public int receive(DatagramSink sink, int datagramsMax) {
        int n = drain(channels[0], sink, datagramsMax);
        long nowNs = System.nanoTime();
        if (nowNs - pathLookNs >= PATH_LOOK_NS) {
            pathLookNs = nowNs;
            select(0);
        }
        while (readyPathCount > 0) {
            n += drain(channels[readyPaths[--readyPathCount]], sink, PATH_DATAGRAMS_MAX);
        }
        return n;
    }

    private int drain(DatagramChannel channel, DatagramSink sink, int datagramsMax) {
        int n = 0;
        long nowNs = 0;
        for (int i = 0; i < datagramsMax; i++) {
            slotView.clear();
            InetSocketAddress from;
            try {
                from = (InetSocketAddress) channel.receive(slotView);
            } catch (ClosedChannelException e) {
                return n;
            } catch (IOException e) {
                // An ICMP error of an earlier send, for example: it concerns one peer, not the
                // loop.
                count(RX_ERRORS, 1);
                lastError = "receive: " + e.getMessage();
                continue;
            }
            if (from == null) {
                return n;
            }
            if (n % DATAGRAMS_PER_CLOCK == 0) {
                nowNs = System.nanoTime();
            }
            n++;
            int bytes = slotView.position();
            count(RX_DATAGRAMS, 1);
            count(RX_BYTES, bytes);
            sink.onDatagram(nowNs, slot, 0, bytes, sourceOf(from), false);
        }
        return n;
    }

    /** The JDK gives the same object as long as the sender is the same. */
    @SuppressWarnings("ReferenceEquality") // equality would not see zones
    private NetAddress sourceOf(InetSocketAddress from) {
        NetAddress last = lastSource;
        if (from == lastSocket && last != null) {
            return last;
        }
        NetAddress source = sources.addressOf(from);
        lastSocket = from;
        lastSource = source;
        return source;
    }

    /**
     * Sends every packet of the batch as one datagram, each from the socket of its route. A packet
     * that cannot be sent is dropped and counted, as if the network had lost it.
     *
     * @return packets given to the system
     */
    public int send(TxBatch batch) {
        ByteBuffer view = viewOf(batch);
        int sent = 0;
        for (int run = 0; run < batch.runs(); run++) {
            InetSocketAddress to = targets.socketOf(batch.destination(run));
            DatagramChannel channel = channels[batch.route(run)];
            int segment = batch.segmentBytes(run);
            int at = batch.offset(run);
            int end = at + batch.bytes(run);
            while (at < end) {
                int bytes = Math.min(segment, end - at);
                view.limit(at + bytes).position(at);
                if (sendOne(channel, view, to)) {
                    sent++;
                    count(TX_DATAGRAMS, 1);
                    count(TX_BYTES, bytes);
                }
                at += bytes;
            }
        }
        return sent;
    }

    private ByteBuffer viewOf(TxBatch batch) {
        ByteBuffer view = batchView;
        if (view == null || viewedBatch != batch) {
            view = batch.memory().bytes().duplicate();
            batchView = view;
            viewedBatch = batch;
        }
        return view;
    }

    private boolean sendOne(DatagramChannel channel, ByteBuffer packet, InetSocketAddress to) {
        try {
            // The kernel takes a datagram whole or not at all, so what remains is all or nothing.
            for (int i = 0; i <= SEND_RETRIES_MAX; i++) {
                channel.send(packet, to);
                if (!packet.hasRemaining()) {
                    return true;
                }
                count(TX_FULL, 1);
                Thread.onSpinWait();
            }
            count(TX_DROPPED, 1);
        } catch (ClosedChannelException e) {
            count(TX_DROPPED, 1);
        } catch (IOException | UnsupportedAddressTypeException e) {
            count(TX_ERRORS, 1);
            lastError = "send to " + to + ": " + e.getMessage();
        }
        return false;
    }

    /**
     * Waits for a datagram on any socket, a {@link #wakeup}, or the end of the time.
     *
     * @param timeoutMs milliseconds; 0 only looks
     * @return true when a datagram may be there
     */
    public boolean select(long timeoutMs) {
        try {
            return timeoutMs > 0
                    ? selector.select(onReady, timeoutMs) > 0
                    : selector.selectNow(onReady) > 0;
        } catch (ClosedSelectorException e) {
            return false;
        } catch (IOException e) {
            count(RX_ERRORS, 1);
            lastError = "select: " + e.getMessage();
            return false;
        }
    }

    private void noteReady(SelectionKey key) {
        int route = (Integer) key.attachment();
        if (route == 0 || readyPathCount == readyPaths.length) {
            return;
        }
        readyPaths[readyPathCount++] = route;
    }

    /** Any thread: ends a {@link #select} that waits now, or the next one. */
    public void wakeup() {
        selector.wakeup();
    }

    /** Any thread: counts since the port was opened. */
    public Stats stats() {
        return new Stats(
                get(RX_DATAGRAMS),
                get(RX_BYTES),
                get(RX_ERRORS),
                get(TX_DATAGRAMS),
                get(TX_BYTES),
                get(TX_FULL),
                get(TX_DROPPED),
                get(TX_ERRORS),
                lastError);
    }

    /**
     * What the sockets did.
     *
     * @param rxDatagrams datagrams received, those without bytes included
     * @param rxBytes their bytes
     * @param rxErrors errors the system reported on receiving
     * @param txDatagrams datagrams given to the system
     * @param txBytes their bytes
     * @param txFull times a socket buffer was full and the send was tried again
     * @param txDropped datagrams dropped because the buffer stayed full or the port was closed
     * @param txErrors datagrams the system refused: no route, too long, forbidden
     * @param lastError text of the last error, empty when there was none
     */
    public record Stats(
            long rxDatagrams,
            long rxBytes,
            long rxErrors,
            long txDatagrams,
            long txBytes,
            long txFull,
            long txDropped,
            long txErrors,
            String lastError) {}

    private void count(int which, long amount) {
        COUNT.setOpaque(counts, which, counts[which] + amount);
    }

    private long get(int which) {
        return (long) COUNT.getOpaque(counts, which);
    }

    /** Any thread: closes all sockets; a second call does nothing. */
    @Override
    public void close() {
        open = false;
        for (DatagramChannel channel : channels) {
            closeQuietly(channel);
        }
        closeQuietly(selector);
    }

    static void closeQuietly(@Nullable AutoCloseable resource) {
        try {
            if (resource != null) {
                resource.close();
            }
        } catch (Exception e) {
            // Closing is the last thing done with it; there is nobody left to care.
        }
    }
}
