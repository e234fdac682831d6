package dev.metaroce.tools.sim;

import dev.metaroce.tools.cli.ToolException;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A text file that an option names. */
final class InputFile {
    private InputFile() {}

    static String read(String option, Path path) {
        try {
            return Files.readString(path);
        } catch (CharacterCodingException e) {
            throw ToolException.usage(
                    "%s '%s' is no text in UTF-8: name another file".formatted(option, path));
        } catch (IOException e) {
            throw ToolException.usage(
                    "cannot read %s '%s' (%s): name a file that can be read"
                            .formatted(option, path, e.getClass().getSimpleName()));
        }
    }
}
