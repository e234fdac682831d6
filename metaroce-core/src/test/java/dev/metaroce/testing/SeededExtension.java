package dev.metaroce.testing;

import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.IncompleteExecutionException;

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The machinery behind {@link Seeded}. */
public final class SeededExtension implements TestTemplateInvocationContextProvider {
    /** Set to one seed, a test method runs that case alone. */
    public static final String SEED_PROPERTY = "metaroce.seed";

    private static final long BASE = 0x4D65_7461_526F_4345L; // "MetaRoCE"
    private static final long GOLDEN_GAMMA = 0x9E37_79B9_7F4A_7C15L;

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return context.getTestMethod().map(method -> seeded(method).isPresent()).orElse(false);
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(
            ExtensionContext context) {
        Method method = context.getRequiredTestMethod();
        if (method.getParameterCount() != 1 || method.getParameterTypes()[0] != long.class) {
            throw new IllegalArgumentException(
                    method + ": a @Seeded method takes one long, the seed");
        }
        int cases = seeded(method).orElseThrow().cases();
        if (cases < 1) {
            throw new IllegalArgumentException(
                    method + ": @Seeded(cases) is " + cases + ", not >= 1");
        }
        String name = context.getRequiredTestClass().getName() + "#" + method.getName();
        AtomicBoolean failed = new AtomicBoolean();
        return seeds(name, cases, System.getProperty(SEED_PROPERTY))
                .takeWhile(seed -> !failed.get())
                .mapToObj(seed -> new Case(seed, failed));
    }

    private static Optional<Seeded> seeded(Method method) {
        return AnnotationSupport.findAnnotation(method, Seeded.class);
    }

    /** The seeds of a method, or the one that the property names. Never negative. */
    static LongStream seeds(String name, int cases, String property) {
        if (property != null) {
            return LongStream.of(parse(property));
        }
        long start = BASE;
        for (int i = 0; i < name.length(); i++) {
            start = start * 31 + name.charAt(i);
        }
        long origin = start;
        return LongStream.rangeClosed(1, cases).map(i -> mix(origin + i * GOLDEN_GAMMA) >>> 1);
    }

    private static long parse(String property) {
        try {
            return Long.decode(property.strip());
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    SEED_PROPERTY + ": '" + property + "' is not a whole number", e);
        }
    }

    /** The output step of SplitMix64. */
    private static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return z ^ (z >>> 31);
    }

    /** The line that runs one case again, ready for a shell at the root of the checkout. */
    static String replayLine(String module, Class<?> testClass, String method, long seed) {
        boolean integrationTest = testClass.getSimpleName().endsWith("IT");
        boolean onlyTest = module.equals("metaroce-core") && !integrationTest;
        String test = nameForMaven(testClass, method);

        StringBuilder line = new StringBuilder("replay: mvn -q verify -pl ").append(module);
        if (!onlyTest) {
            line.append(" -am -Dsurefire.failIfNoSpecifiedTests=false");
        }
        if (integrationTest) {
            line.append(" -Dtest=none -Dit.test=").append(test);
        } else {
            line.append(onlyTest ? "" : " -DskipITs").append(" -Dtest=").append(test);
        }
        return line.append(" -D" + SEED_PROPERTY + "=").append(seed).toString();
    }

    /** As -Dtest takes it; quoted when the class is nested, because of the dollar sign. */
    private static String nameForMaven(Class<?> testClass, String method) {
        String name = testClass.getName();
        String test = name.substring(name.lastIndexOf('.') + 1) + "#" + method;
        return test.contains("$") ? "'" + test + "'" : test;
    }

    private static String moduleOfThisRun() {
        String directory = System.getProperty("basedir", System.getProperty("user.dir"));
        return Path.of(directory).getFileName().toString();
    }

    /** One seed: its name in reports, the argument, and the failure message. */
    private record Case(long seed, AtomicBoolean failed)
            implements TestTemplateInvocationContext,
                    ParameterResolver,
                    TestExecutionExceptionHandler,
                    LifecycleMethodExecutionExceptionHandler {
        @Override
        public String getDisplayName(int invocationIndex) {
            return "seed " + seed;
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == long.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return seed;
        }

        @Override
        public void handleTestExecutionException(ExtensionContext context, Throwable failure)
                throws Throwable {
            throw withReplayLine(context, failure);
        }

        @Override
        public void handleBeforeEachMethodExecutionException(
                ExtensionContext context, Throwable failure) throws Throwable {
            throw withReplayLine(context, failure);
        }

        @Override
        public void handleAfterEachMethodExecutionException(
                ExtensionContext context, Throwable failure) throws Throwable {
            throw withReplayLine(context, failure);
        }

        private Throwable withReplayLine(ExtensionContext context, Throwable failure) {
            if (failure instanceof IncompleteExecutionException) {
                return failure; // an assumption did not hold: the case is skipped, not failed
            }
            failed.set(true);
            String replay =
                    replayLine(
                            moduleOfThisRun(),
                            context.getRequiredTestClass(),
                            context.getRequiredTestMethod().getName(),
                            seed);
            return new AssertionError(failure + System.lineSeparator() + replay, failure);
        }
    }
}
