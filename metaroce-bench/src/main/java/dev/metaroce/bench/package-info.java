/** JMH benchmarks of the hot path. */
@NullMarked
package dev.metaroce.bench;

import org.jspecify.annotations.NullMarked;
