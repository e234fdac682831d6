package dev.metaroce.net;

/**
 * What the sockets of a device did since it was opened.
 *
 * @param rxDatagrams datagrams received, those without bytes included
 * @param rxBytes their bytes
 * @param rxCalls system calls that brought datagrams: one may bring many
 * @param rxErrors errors the system reported on receiving
 * @param txDatagrams datagrams given to the system
 * @param txBytes their bytes
 * @param txCalls system calls that took datagrams: one may take many
 * @param txFull times a socket buffer was full and the send was tried again
 * @param txDropped datagrams dropped because the buffer stayed full or the port was closed
 * @param txErrors datagrams the system refused: no route, too long, forbidden
 * @param lastError text of the last error, empty when there was none
 */
public record PortStats(
        long rxDatagrams,
        long rxBytes,
        long rxCalls,
        long rxErrors,
        long txDatagrams,
        long txBytes,
        long txCalls,
        long txFull,
        long txDropped,
        long txErrors,
        String lastError) {}
