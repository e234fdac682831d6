/** What happens next in a simulation. */
@NullMarked
package dev.metaroce.sim.event;

import org.jspecify.annotations.NullMarked;
