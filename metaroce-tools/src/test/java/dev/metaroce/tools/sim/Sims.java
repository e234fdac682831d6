package dev.metaroce.tools.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs of {@code metaroce sim} in this JVM, and what holds for all of their documents. */
final class Sims {
    private static final Schema SCHEMA = schema();

    private Sims() {}

    private static Schema schema() {
        try {
            String text = Files.readString(Path.of("..", "docs", "sim.schema.json"));
            return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                    .getSchema(new JsonMapper().readTree(text));
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Blank-separated arguments. */
    static InProcess run(String arguments) {
        List<String> all = new ArrayList<>(List.of("sim"));
        all.addAll(List.of(arguments.strip().split(" +")));
        return InProcess.run(all);
    }

    /** The document of a run that ends with this code; it fits the schema. */
    static JsonNode document(int exitCode, String arguments) {
        InProcess run = run(arguments + " --json -");
        assertThat(run.exitCode()).as(run.err()).isEqualTo(exitCode);
        return valid(run.out());
    }

    static JsonNode valid(String text) {
        JsonNode document = Tool.json(text);
        assertThat(SCHEMA.validate(document).stream().map(Object::toString)).as(text).isEmpty();
        return document;
    }
}
