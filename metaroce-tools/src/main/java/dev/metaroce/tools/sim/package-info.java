/** {@code metaroce sim}: the engine on a simulated network. */
@NullMarked
package dev.metaroce.tools.sim;

import org.jspecify.annotations.NullMarked;
