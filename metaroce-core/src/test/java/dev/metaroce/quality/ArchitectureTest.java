package dev.metaroce.quality;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;

/** The package order of core, and what core keeps out: sockets, loggers, threads. */
class ArchitectureTest {
    private static final String ROOT = "dev.metaroce.";

    /** Lowest first: each package may use itself and those before it. */
    private static final List<String> LAYERS =
            List.of(
                    "util",
                    "wire",
                    "memory",
                    "ring",
                    "event",
                    "congestion",
                    "path",
                    "transport",
                    "rocev2",
                    "engine",
                    "verbs");

    private static JavaClasses core;

    @BeforeAll
    static void readCore() {
        Path classes = Path.of(System.getProperty("metaroce.classes", "target/classes"));
        assertThat(Files.isDirectory(classes)).as("core is compiled").isTrue();
        core = new ClassFileImporter().importPath(classes);
    }

    @Test
    void everyPackageHasItsPlaceInTheOrder() {
        TreeSet<String> packages = new TreeSet<>();
        for (JavaClass type : core) {
            packages.add(type.getPackageName().substring(ROOT.length()).split("\\.")[0]);
        }

        assertThat(packages).as("packages that ArchUnit could read").isNotEmpty();
        assertThat(LAYERS).as("the order in ArchitectureTest.LAYERS").containsAll(packages);
    }

    @Test
    void packagesUseOnlyLowerPackages() {
        for (int i = 0; i < LAYERS.size() - 1; i++) {
            String[] above =
                    LAYERS.subList(i + 1, LAYERS.size()).stream()
                            .map(layer -> ROOT + layer + "..")
                            .toArray(String[]::new);
            noClasses()
                    .that()
                    .resideInAPackage(ROOT + LAYERS.get(i) + "..")
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(above)
                    .because("core's packages use only those before them: " + LAYERS)
                    .allowEmptyShould(true)
                    .check(core);
        }
    }

    @Test
    void coreOpensNoSocketAndNoLog() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.net..", "java.nio.channels..", "java.util.logging..")
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching("java\\.lang\\.System\\$Logger.*")
                .because("metaroce-net owns sockets; the engine reports facts to an EventSink")
                .check(core);
    }

    @Test
    void coreStartsNoThreadAndTakesNoLock() {
        // EngineGate asks which thread it is on: an application that closes a region must not wait
        // for its own turn. It starts and blocks none.
        noClasses()
                .that()
                .doNotHaveSimpleName("EngineGate")
                .should()
                .dependOnClassesThat()
                .haveNameMatching(
                        "java\\.lang\\.(Thread|(Inheritable)?ThreadLocal|ScopedValue)(\\$.*)?"
                                + "|java\\.util\\.Timer(Task)?"
                                + "|java\\.util\\.concurrent\\.(?!atomic\\.|TimeUnit).*")
                .because("a driver owns the thread and pumps the engine; use the rings in ring")
                .check(core);
    }
}
