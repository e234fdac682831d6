/** What the hosts of a simulation send to each other, and when. */
@NullMarked
package dev.metaroce.sim.workload;

import org.jspecify.annotations.NullMarked;
