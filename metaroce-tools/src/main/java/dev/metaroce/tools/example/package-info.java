/** Runs the single-file programs under examples/. */
@NullMarked
package dev.metaroce.tools.example;

import org.jspecify.annotations.NullMarked;
