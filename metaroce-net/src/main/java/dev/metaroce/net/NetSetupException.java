package dev.metaroce.net;

/**
 * A socket, an address or an interface of this machine is not as asked for. The message is one line
 * fit for a user: what failed, with which value, and what to do.
 */
public final class NetSetupException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public NetSetupException(String message) {
        super(message);
    }

    public NetSetupException(String message, Throwable cause) {
        super(message, cause);
    }
}
