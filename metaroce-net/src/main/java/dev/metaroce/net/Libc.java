package dev.metaroce.net;

/**
 * The calls of the C library that {@link LinuxPort} makes, and nothing around them. Memory is given
 * by address; a result below zero is the negative error number. Tests put an object of their own in
 * between to fail single calls.
 *
 * <p>One thread at a time; {@link #write} too, but that may be another thread than the others'.
 */
interface Libc {
    int AF_INET = 2;
    int AF_INET6 = 10;

    int EINTR = 4;
    int EIO = 5;
    int EAGAIN = 11;
    int EACCES = 13;
    int EINVAL = 22;
    int EMSGSIZE = 90;
    int ENOPROTOOPT = 92;
    int EOPNOTSUPP = 95;
    int EAFNOSUPPORT = 97;
    int EADDRINUSE = 98;
    int ENOBUFS = 105;

    int SOL_IP = 0;
    int SOL_SOCKET = 1;
    int SOL_UDP = 17;
    int SOL_IPV6 = 41;

    int SO_SNDBUF = 7;
    int SO_RCVBUF = 8;
    int IP_TOS = 1;
    int IP_MTU_DISCOVER = 10;
    int IP_RECVTOS = 13;
    int IPV6_MTU_DISCOVER = 23;
    int IPV6_V6ONLY = 26;
    int IPV6_RECVTCLASS = 66;
    int IPV6_TCLASS = 67;
    int UDP_NO_CHECK6_RX = 102;
    int UDP_SEGMENT = 103;
    int UDP_GRO = 104;

    /** Value of the two MTU_DISCOVER options: never fragment, refuse what is too long. */
    int PMTUDISC_DO = 2;

    int POLLIN = 1;

    /** A UDP socket that does not block, of {@link #AF_INET} or {@link #AF_INET6}. */
    int udpSocket(int family);

    int bind(int fd, long address, int addressBytes);

    /** Writes the local address; {@code addressBytesAt} points to an int: room, then length. */
    int getsockname(int fd, long address, long addressBytesAt);

    int setsockopt(int fd, int level, int option, int value);

    /** The value of an int option, or the negative error number. */
    int getsockopt(int fd, int level, int option);

    /** Sends up to {@code count} messages of an array of mmsghdr; the number sent. */
    int sendmmsg(int fd, long messages, int count);

    /** Takes up to {@code count} messages that wait, without blocking; the number taken. */
    int recvmmsg(int fd, long messages, int count);

    /**
     * Waits for {@code count} entries of an array of pollfd.
     *
     * @param timespec address of seconds and nanoseconds, two longs
     */
    int ppoll(long pollFds, int count, long timespec);

    /** A counter that can be waited for, does not block. */
    int eventfd();

    int read(int fd, long buffer, int bytes);

    int write(int fd, long buffer, int bytes);

    int close(int fd);

    /** What an error number means, in the words of the C library. */
    String text(int errno);
}
