package dev.metaroce.tools.cli;

import dev.metaroce.wire.Profile;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.util.Locale;

/** Converts the letter of a profile. */
public final class ProfileName implements ITypeConverter<Profile> {
    @Override
    public Profile convert(String text) {
        return switch (text.toUpperCase(Locale.ROOT)) {
            case "S" -> Profile.S;
            case "M" -> Profile.M;
            default -> throw new TypeConversionException("'" + text + "' is not S or M");
        };
    }
}
