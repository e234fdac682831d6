/** JMH benchmarks of the hot path, and the figures of comparisons with other transports. */
@NullMarked
package dev.metaroce.bench;

import org.jspecify.annotations.NullMarked;
