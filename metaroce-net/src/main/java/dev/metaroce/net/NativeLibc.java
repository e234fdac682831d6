package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * {@link Libc} by java.lang.foreign. Pointers travel as longs, so that a call checks no scopes;
 * whoever calls keeps the memory alive.
 *
 * <p>Each object has room for the error number of one call at a time: one per port.
 */
final class NativeLibc implements Libc {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final VarHandle ERRNO_FIELD =
            Linker.Option.captureStateLayout()
                    .varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle SOCKET = find("socket", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = find("bind", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle GETSOCKNAME =
            find("getsockname", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle SETSOCKOPT =
            find("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle GETSOCKOPT =
            find("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle SENDMMSG =
            find("sendmmsg", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle RECVMMSG =
            find("recvmmsg", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle PPOLL =
            find("ppoll", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle EVENTFD = find("eventfd", JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = find("close", JAVA_INT);
    private static final MethodHandle READ = findLong("read", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle WRITE = findLong("write", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle STRERROR =
            LINKER.downcallHandle(symbol("strerror"), FunctionDescriptor.of(ADDRESS, JAVA_INT));

    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_NONBLOCK = 0x800;
    private static final int SOCK_CLOEXEC = 0x8_0000;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int ERROR_TEXT_BYTES_MAX = 256;

    /** The class of a segment of native memory, which the JDK does not name. */
    private static final Class<?> NATIVE = MemorySegment.NULL.getClass();

    private final MemorySegment state;

    /** For the one call that another thread makes meanwhile. */
    private final MemorySegment writeState;

    private final MemorySegment value;
    private final MemorySegment valueBytes;

    NativeLibc() {
        Arena arena = Arena.ofAuto();
        state = arena.allocate(Linker.Option.captureStateLayout());
        writeState = arena.allocate(Linker.Option.captureStateLayout());
        value = arena.allocate(JAVA_INT);
        valueBytes = arena.allocate(JAVA_INT);
    }

    private static MemorySegment symbol(String name) {
        return SymbolLookup.loaderLookup()
                .find(name)
                .or(() -> LINKER.defaultLookup().find(name))
                .orElseThrow(() -> new UnsatisfiedLinkError("no function " + name));
    }

    private static MethodHandle find(String name, MemoryLayout... arguments) {
        return LINKER.downcallHandle(
                symbol(name), FunctionDescriptor.of(JAVA_INT, arguments), ERRNO);
    }

    private static MethodHandle findLong(String name, MemoryLayout... arguments) {
        return LINKER.downcallHandle(
                symbol(name), FunctionDescriptor.of(JAVA_LONG, arguments), ERRNO);
    }

    private MemorySegment state() {
        return known(state);
    }

    /**
     * The same segment, of a class that the compiler knows without having watched it. The JDK makes
     * a slice of it in every call; only where the class is known does that slice go away.
     */
    private static MemorySegment known(MemorySegment segment) {
        if (segment.getClass() != NATIVE) {
            throw new AssertionError(segment);
        }
        return segment;
    }

    private int result(int returned) {
        return returned >= 0 ? returned : -(int) ERRNO_FIELD.get(state, 0L);
    }

    @Override
    public int udpSocket(int family) {
        try {
            int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
            return result((int) SOCKET.invokeExact(state(), family, type, 0));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int bind(int fd, long address, int addressBytes) {
        try {
            return result((int) BIND.invokeExact(state(), fd, address, addressBytes));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int getsockname(int fd, long address, long addressBytesAt) {
        try {
            return result((int) GETSOCKNAME.invokeExact(state(), fd, address, addressBytesAt));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int setsockopt(int fd, int level, int option, int newValue) {
        try {
            value.set(JAVA_INT, 0, newValue);
            long at = value.address();
            return result((int) SETSOCKOPT.invokeExact(state(), fd, level, option, at, 4));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int getsockopt(int fd, int level, int option) {
        try {
            valueBytes.set(JAVA_INT, 0, 4);
            long at = value.address();
            long bytesAt = valueBytes.address();
            int r = result((int) GETSOCKOPT.invokeExact(state(), fd, level, option, at, bytesAt));
            return r < 0 ? r : value.get(JAVA_INT, 0);
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int sendmmsg(int fd, long messages, int count) {
        try {
            return result((int) SENDMMSG.invokeExact(state(), fd, messages, count, 0));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int recvmmsg(int fd, long messages, int count) {
        try {
            return result(
                    (int) RECVMMSG.invokeExact(state(), fd, messages, count, MSG_DONTWAIT, 0L));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int ppoll(long pollFds, int count, long timespec) {
        try {
            return result((int) PPOLL.invokeExact(state(), pollFds, (long) count, timespec, 0L));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int eventfd() {
        try {
            return result((int) EVENTFD.invokeExact(state(), 0, SOCK_NONBLOCK | SOCK_CLOEXEC));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int read(int fd, long buffer, int bytes) {
        try {
            return result((int) (long) READ.invokeExact(state(), fd, buffer, (long) bytes));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int write(int fd, long buffer, int bytes) {
        try {
            int written =
                    (int) (long) WRITE.invokeExact(known(writeState), fd, buffer, (long) bytes);
            return written >= 0 ? written : -(int) ERRNO_FIELD.get(writeState, 0L);
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public int close(int fd) {
        try {
            return result((int) CLOSE.invokeExact(state(), fd));
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    @Override
    public String text(int errno) {
        try {
            MemorySegment text = (MemorySegment) STRERROR.invokeExact(errno);
            return text.reinterpret(ERROR_TEXT_BYTES_MAX).getString(0);
        } catch (Throwable t) {
            throw defect(t);
        }
    }

    /** The handles themselves throw nothing: what arrives here is a defect or an Error. */
    private static RuntimeException defect(Throwable t) {
        if (t instanceof Error e) {
            throw e;
        }
        return t instanceof RuntimeException e ? e : new IllegalStateException(t);
    }
}
