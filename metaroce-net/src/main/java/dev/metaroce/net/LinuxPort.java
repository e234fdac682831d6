package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * UDP sockets by the system calls of Linux: sendmmsg with UDP_SEGMENT, so that the kernel carries a
 * whole run of packets as one and cuts it late or never; recvmmsg with UDP_GRO for the same the
 * other way; congestion marks set and read in control messages.
 *
 * <p>Every feature is tried when the port is opened, can be switched off, and is given up for a
 * destination whose way refuses it: the datagrams concerned go again without it in the same call.
 *
 * <p>Owner and thread rules are those of {@link Port}; {@link #close} while the owner is inside a
 * call takes effect when that call ends.
 */
final class LinuxPort implements Port {
    private static final Logger LOG = System.getLogger(LinuxPort.class.getName());

    /** Messages per recvmmsg: each may hold 64 KiB that the kernel merged. */
    private static final int RX_MESSAGES = 16;

    /** Time between two looks at the path sockets, where only strays arrive. */
    private static final long PATH_LOOK_NS = 1_000_000;

    /** Datagrams taken from one path socket per look. */
    private static final int PATH_DATAGRAMS_MAX = 16;

    private static final int POLL_FD_BYTES = 8;
    private static final long SECOND_NS = 1_000_000_000;

    // Whether the owner is inside a call, and who is to close the sockets
    private static final int AT_REST = 0;
    private static final int IN_CALL = 1;
    private static final int CLOSE_AFTER_CALL = 2;
    private static final int CLOSED = 3;

    private final Libc libc;
    private final LinuxSockets sockets;
    private final List<String> warnings;
    private final PortCounters counters = new PortCounters();
    private final LinuxReceiver receiver;
    private final LinuxSender sender;
    private final MemorySegment pollFds;
    private final MemorySegment timespec = Arena.ofAuto().allocate(16, 8);
    private final MemorySegment wakeCount = Arena.ofAuto().allocate(8, 8);
    private final MemorySegment wakeOne = Arena.ofAuto().allocate(8, 8);
    private final AtomicInteger state = new AtomicInteger(AT_REST);
    private final Object wakeLock = new Object();
    private boolean wakeFdClosed;
    private boolean pathsReady;
    private long pathLookNs = System.nanoTime();

    private LinuxPort(LinuxSockets sockets, PortOptions options, Libc libc) {
        this.libc = libc;
        this.sockets = sockets;
        warnings = new CopyOnWriteArrayList<>(sockets.warnings);
        receiver =
                new LinuxReceiver(libc, counters, sockets.ipv6, options.checksums(), RX_MESSAGES);
        sender = new LinuxSender(libc, counters, sockets, options.dscp(), this::notice);
        int[] fds = sockets.fds;
        pollFds = Arena.ofAuto().allocate((fds.length + 1L) * POLL_FD_BYTES, 8);
        for (int i = 0; i < fds.length; i++) {
            putPollFd(i, fds[i]);
        }
        putPollFd(fds.length, sockets.wakeFd);
        wakeOne.set(JAVA_LONG, 0, 1);
    }

    private void putPollFd(int i, int fd) {
        pollFds.set(JAVA_INT, (long) i * POLL_FD_BYTES, fd);
        pollFds.set(JAVA_SHORT, (long) i * POLL_FD_BYTES + 4, (short) Libc.POLLIN);
    }

    /** What the kernel refused while the port was in use: told once, and kept. */
    private void notice(String line) {
        warnings.add(line);
        LOG.log(Level.WARNING, line);
    }

    /** Why Linux sockets are not possible in this process; empty when they are. */
    static String obstacle() {
        return Obstacle.TEXT;
    }

    /** Found once: whether the C library can be called does not change. */
    private static final class Obstacle {
        static final String TEXT = find();

        private Obstacle() {}

        private static String find() {
            if (!System.getProperty("os.name", "").equals("Linux")) {
                return "this is not Linux";
            }
            if (!MessageArray.fitsThisMachine()) {
                return "this machine is not a 64-bit one in little endian";
            }
            try {
                new NativeLibc().close(-1);
                return "";
            } catch (IllegalCallerException | LinkageError | UnsupportedOperationException e) {
                return "native access is not permitted ("
                        + rootOf(e)
                        + "); start java with --enable-native-access=ALL-UNNAMED";
            }
        }

        private static String rootOf(Throwable e) {
            Throwable cause = e;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return String.valueOf(cause.getMessage());
        }
    }

    /**
     * Opens the sockets.
     *
     * @param libc the C library, for this port alone
     * @throws NetSetupException when an address cannot be bound
     */
    static LinuxPort open(PortOptions options, Libc libc) {
        return new LinuxPort(LinuxSockets.open(options, libc), options, libc);
    }

    @Override
    public List<InetSocketAddress> localAddresses() {
        return sockets.localAddresses;
    }

    @Override
    public int routePort(int plane, int route) {
        return sockets.ports[plane * sockets.stride + route];
    }

    @Override
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    @Override
    public SocketInfo info() {
        return new SocketInfo(
                SocketKind.LINUX,
                sender.usesGso(),
                sockets.gro,
                sender.usesEcn(),
                sockets.receiveBufferBytes,
                sockets.sendBufferBytes);
    }

    @Override
    public boolean gathers() {
        return true;
    }

    @Override
    public boolean isOpen() {
        int now = state.get();
        return now == AT_REST || now == IN_CALL;
    }

    private boolean enter() {
        return state.compareAndSet(AT_REST, IN_CALL);
    }

    private void leave() {
        if (!state.compareAndSet(IN_CALL, AT_REST)) {
            state.set(CLOSED);
            closeSockets();
        }
    }

    @Override
    public int receive(DatagramSink sink, int datagramsMax) {
        if (!enter()) {
            return 0;
        }
        try {
            int n = 0;
            for (int own = 0; own < sockets.fds.length; own += sockets.stride) {
                int plane = own / sockets.stride;
                n += receiver.drain(sockets.fds[own], plane, sink, datagramsMax);
            }
            long nowNs = System.nanoTime();
            if (nowNs - pathLookNs >= PATH_LOOK_NS) {
                pathLookNs = nowNs;
                poll(0);
            }
            if (pathsReady) {
                pathsReady = false;
                n += drainPaths(sink);
            }
            return n;
        } finally {
            leave();
        }
    }

    private int drainPaths(DatagramSink sink) {
        int n = 0;
        for (int i = 0; i < sockets.fds.length; i++) {
            if (i % sockets.stride != 0 && isReady(i)) {
                int plane = i / sockets.stride;
                n += receiver.drain(sockets.fds[i], plane, sink, PATH_DATAGRAMS_MAX);
            }
        }
        return n;
    }

    @Override
    public int send(TxBatch batch) {
        if (!enter()) {
            counters.add(PortCounters.TX_DROPPED, batch.packets());
            return 0;
        }
        try {
            return sender.send(batch, sockets);
        } finally {
            leave();
        }
    }

    @Override
    public boolean await(long timeoutNs) {
        if (!enter()) {
            return false;
        }
        try {
            return poll(timeoutNs);
        } finally {
            leave();
        }
    }

    private boolean poll(long timeoutNs) {
        int fds = sockets.fds.length;
        timespec.set(JAVA_LONG, 0, timeoutNs / SECOND_NS);
        timespec.set(JAVA_LONG, 8, timeoutNs % SECOND_NS);
        int ready = libc.ppoll(pollFds.address(), fds + 1, timespec.address());
        if (ready <= 0) {
            return false;
        }
        boolean anything = false;
        if (isReady(fds)) {
            libc.read(sockets.wakeFd, wakeCount.address(), Long.BYTES);
            ready--;
        }
        for (int own = 0; own < fds; own += sockets.stride) {
            ready -= isReady(own) ? 1 : 0;
            anything |= isReady(own);
        }
        pathsReady = ready > 0;
        return anything || pathsReady;
    }

    /** What the last poll found for entry {@code i}; errors count, reading takes them away. */
    private boolean isReady(int i) {
        return pollFds.get(JAVA_SHORT, (long) i * POLL_FD_BYTES + 6) != 0;
    }

    @Override
    public void wakeup() {
        synchronized (wakeLock) {
            if (!wakeFdClosed) {
                libc.write(sockets.wakeFd, wakeOne.address(), Long.BYTES);
            }
        }
    }

    @Override
    public @Nullable Unsent takeUnsent() {
        return counters.takeUnsent();
    }

    @Override
    public PortStats stats() {
        return counters.snapshot();
    }

    @Override
    public void close() {
        while (true) {
            if (state.compareAndSet(AT_REST, CLOSED)) {
                closeSockets();
                return;
            }
            if (state.compareAndSet(IN_CALL, CLOSE_AFTER_CALL)) {
                wakeup();
                return;
            }
            if (!isOpen()) {
                return;
            }
        }
    }

    /** The descriptors may be given to another file at once: nobody may use them afterwards. */
    private void closeSockets() {
        for (int fd : sockets.fds) {
            libc.close(fd);
        }
        synchronized (wakeLock) {
            wakeFdClosed = true;
            libc.close(sockets.wakeFd);
        }
    }
}
