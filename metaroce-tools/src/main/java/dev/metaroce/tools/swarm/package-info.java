/** The command that runs random simulations and looks for objections. */
@NullMarked
package dev.metaroce.tools.swarm;

import org.jspecify.annotations.NullMarked;
