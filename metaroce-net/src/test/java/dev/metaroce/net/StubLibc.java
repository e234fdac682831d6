package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** The real C library, except for calls that a test wants to fail. Not for two threads. */
final class StubLibc implements Libc {
    private static final int MESSAGE_BYTES = 64;

    private final Libc real = new NativeLibc();
    private final Map<Integer, Integer> refusedOptions = new HashMap<>();
    private int segmentErrno;
    private int markErrno;
    private int sendErrno;
    private int receiveErrno;
    private int receiveErrorsLeft;
    private boolean truncatesControl;

    /** Messages tried that asked for segmentation. */
    int segmentAttempts;

    /** Datagrams sent with ECT(0), those of offloaded messages counting as one. */
    int markedMessages;

    int sentMessages;

    /** Every use of an option fails from now on. */
    StubLibc refuseOption(int option, int errno) {
        refusedOptions.put(option, errno);
        return this;
    }

    /** Messages that ask for UDP_SEGMENT fail from now on; 0 ends it. */
    StubLibc refuseSegments(int errno) {
        segmentErrno = errno;
        return this;
    }

    /** Messages that ask for a traffic class fail from now on. */
    StubLibc refuseMarks(int errno) {
        markErrno = errno;
        return this;
    }

    /** All sending fails from now on. */
    StubLibc refuseSending(int errno) {
        sendErrno = errno;
        return this;
    }

    /** So many calls for datagrams fail. */
    StubLibc failReceiving(int times, int errno) {
        receiveErrorsLeft = times;
        receiveErrno = errno;
        return this;
    }

    /** Received messages claim that their control data did not fit. */
    StubLibc truncateControl() {
        truncatesControl = true;
        return this;
    }

    @Override
    public int sendmmsg(int fd, long messages, int count) {
        if (sendErrno != 0) {
            return -sendErrno;
        }
        int good = 0;
        int errno = 0;
        while (good < count && errno == 0) {
            errno = verdict(messages + (long) good * MESSAGE_BYTES);
            good += errno == 0 ? 1 : 0;
        }
        if (good == 0) {
            return -errno;
        }
        int sent = real.sendmmsg(fd, messages, good);
        for (int i = 0; i < sent; i++) {
            sentMessages++;
            markedMessages += has(messages + (long) i * MESSAGE_BYTES, IP_TOS) ? 1 : 0;
        }
        return sent;
    }

    private int verdict(long message) {
        if (has(message, UDP_SEGMENT)) {
            segmentAttempts++;
            if (segmentErrno != 0) {
                return segmentErrno;
            }
        }
        return has(message, IP_TOS) ? markErrno : 0;
    }

    /** Looks for a control message of a type, by the layout that the C library documents. */
    private static boolean has(long message, int type) {
        MemorySegment header = MemorySegment.ofAddress(message).reinterpret(MESSAGE_BYTES);
        long bytes = header.get(JAVA_LONG, 40);
        if (bytes == 0) {
            return false;
        }
        MemorySegment control =
                MemorySegment.ofAddress(header.get(JAVA_LONG, 32)).reinterpret(bytes);
        for (long at = 0; at + 16 < bytes; at += (control.get(JAVA_LONG, at) + 7) & -8) {
            if (control.get(JAVA_INT, at + 12) == type) {
                return true;
            }
        }
        return false;
    }

    @Override
    public int recvmmsg(int fd, long messages, int count) {
        if (receiveErrorsLeft > 0) {
            receiveErrorsLeft--;
            return -receiveErrno;
        }
        int got = real.recvmmsg(fd, messages, count);
        for (int i = 0; truncatesControl && i < got; i++) {
            long message = messages + (long) i * MESSAGE_BYTES;
            MemorySegment.ofAddress(message).reinterpret(MESSAGE_BYTES).set(JAVA_INT, 48, 8);
        }
        return got;
    }

    @Override
    public int setsockopt(int fd, int level, int option, int value) {
        Integer errno = refusedOptions.get(option);
        return errno == null ? real.setsockopt(fd, level, option, value) : -errno;
    }

    @Override
    public int getsockopt(int fd, int level, int option) {
        Integer errno = refusedOptions.get(option);
        return errno == null ? real.getsockopt(fd, level, option) : -errno;
    }

    @Override
    public int udpSocket(int family) {
        return real.udpSocket(family);
    }

    @Override
    public int bind(int fd, long address, int addressBytes) {
        return real.bind(fd, address, addressBytes);
    }

    @Override
    public int getsockname(int fd, long address, long addressBytesAt) {
        return real.getsockname(fd, address, addressBytesAt);
    }

    @Override
    public int ppoll(long pollFds, int count, long timespec) {
        return real.ppoll(pollFds, count, timespec);
    }

    @Override
    public int eventfd() {
        return real.eventfd();
    }

    @Override
    public int read(int fd, long buffer, int bytes) {
        return real.read(fd, buffer, bytes);
    }

    @Override
    public int write(int fd, long buffer, int bytes) {
        return real.write(fd, buffer, bytes);
    }

    @Override
    public int close(int fd) {
        return real.close(fd);
    }

    @Override
    public String text(int errno) {
        return real.text(errno);
    }
}
