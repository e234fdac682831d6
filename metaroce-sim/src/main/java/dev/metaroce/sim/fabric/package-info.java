/** Packets, links and switches of a simulated network. */
@NullMarked
package dev.metaroce.sim.fabric;

import org.jspecify.annotations.NullMarked;
