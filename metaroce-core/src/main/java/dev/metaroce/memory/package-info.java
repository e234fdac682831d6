/** Registered regions: keys, bounds, placement. */
@NullMarked
package dev.metaroce.memory;

import org.jspecify.annotations.NullMarked;
