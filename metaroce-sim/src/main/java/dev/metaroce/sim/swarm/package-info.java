/** Random work under random faults on random networks, and oracles that object. */
@NullMarked
package dev.metaroce.sim.swarm;

import org.jspecify.annotations.NullMarked;
