package dev.metaroce.net;

/** By which means a device uses UDP sockets. */
public enum SocketKind {
    /** {@link #LINUX} where it works, else {@link #NIO} with a line in the device's warnings. */
    AUTO,

    /** java.nio: any platform; a system call per datagram, and blind for congestion marks. */
    NIO,

    /**
     * Linux by java.lang.foreign: many datagrams per system call (UDP segmentation and receive
     * offload), congestion marks, the DSCP. Fails where that is not possible.
     */
    LINUX
}
