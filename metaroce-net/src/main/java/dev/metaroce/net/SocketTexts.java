package dev.metaroce.net;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;

/** What users are told about sockets, the same for all kinds of port. */
final class SocketTexts {
    private SocketTexts() {}

    /**
     * Why an address could not be bound, and what to do.
     *
     * @param opened sockets opened so far, the failing one included; all are closed again
     * @param wanted files that were to be opened in all
     * @param reason the system's words
     */
    static String cannotBind(InetSocketAddress bind, int opened, int wanted, String reason) {
        String lower = reason.toLowerCase(Locale.ROOT);
        String advice;
        if (lower.contains("in use")) {
            advice = "another program has it; stop that one or choose another port";
        } else if (lower.contains("permission")) {
            advice = "this user may not use it; choose a port above 1023";
        } else if (lower.contains("assign")) {
            advice = "this machine has no such address; choose one of its own or 0.0.0.0";
        } else if (lower.contains("too many open files")) {
            advice = OpenFiles.advice(wanted);
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

    /** Adds a line for each socket buffer that is much smaller than wanted. */
    static void warnIfSmall(List<String> warnings, int receiveBytes, int sendBytes) {
        warnIfSmall(warnings, "receive", "net.core.rmem_max", receiveBytes);
        warnIfSmall(warnings, "send", "net.core.wmem_max", sendBytes);
    }

    private static void warnIfSmall(
            List<String> warnings, String side, String sysctl, int hasBytes) {
        if (hasBytes < Port.WANTED_BUFFER_BYTES / 2) {
            warnings.add(
                    "small socket "
                            + side
                            + " buffer: has "
                            + hasBytes
                            + " bytes, wants "
                            + Port.WANTED_BUFFER_BYTES
                            + "; raise it by: sysctl -w "
                            + sysctl
                            + "="
                            + Port.WANTED_BUFFER_BYTES);
        }
    }
}
