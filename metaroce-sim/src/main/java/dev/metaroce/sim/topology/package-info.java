/** Which hosts, switches and cables there are, and the shortest ways through them. */
@NullMarked
package dev.metaroce.sim.topology;

import org.jspecify.annotations.NullMarked;
