package dev.metaroce.testing;

import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a test method once per seed.
 *
 * <pre>{@code
 * @Seeded(cases = 500)
 * void bitmapMatchesTreeSet(long seed) { ... }
 * }</pre>
 *
 * <p>The method takes one {@code long}. The seeds follow from the class and method names, so every
 * run on every machine sees the same ones. The first failing case ends the method's run, and the
 * last line of its message is the command that runs exactly that case again.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@ExtendWith(SeededExtension.class)
public @interface Seeded {
    /** How many seeds to try. */
    int cases() default 200;
}
