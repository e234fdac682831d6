/** Bandwidth and latency tests in the manner of perftest. */
@NullMarked
package dev.metaroce.tools.perf;

import org.jspecify.annotations.NullMarked;
