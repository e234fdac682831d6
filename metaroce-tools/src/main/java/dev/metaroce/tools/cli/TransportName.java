package dev.metaroce.tools.cli;

import dev.metaroce.net.Transport;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the name of a transport: metaroce, rocev2. */
public final class TransportName implements ITypeConverter<Transport> {
    /** The name as a user writes it. */
    public static String label(Transport transport) {
        return switch (transport) {
            case METAROCE -> "metaroce";
            case ROCE_V2 -> "rocev2";
        };
    }

    @Override
    public Transport convert(String text) {
        for (Transport transport : Transport.values()) {
            if (label(transport).equals(text)) {
                return transport;
            }
        }
        throw new TypeConversionException("'" + text + "' is not metaroce or rocev2");
    }
}
