/** Engines on a simulated network, and what a run shows. */
@NullMarked
package dev.metaroce.sim.run;

import org.jspecify.annotations.NullMarked;
