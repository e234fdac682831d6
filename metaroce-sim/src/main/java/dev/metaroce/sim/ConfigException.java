package dev.metaroce.sim;

/**
 * What was asked for cannot be simulated. The message is one line for the person who asked: where,
 * which value, and what would be right.
 */
public final class ConfigException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ConfigException(String message) {
        super(message);
    }
}
