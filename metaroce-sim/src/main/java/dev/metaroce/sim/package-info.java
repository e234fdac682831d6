/** A simulated network for the engine: what all of its packages share. */
@NullMarked
package dev.metaroce.sim;

import org.jspecify.annotations.NullMarked;
