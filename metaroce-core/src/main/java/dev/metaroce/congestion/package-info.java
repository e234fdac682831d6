/** Windows, pacing, round-trip times and receiver shares. */
@NullMarked
package dev.metaroce.congestion;

import org.jspecify.annotations.NullMarked;
