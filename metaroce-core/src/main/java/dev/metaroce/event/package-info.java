/** Facts of the engine as a schema; counters, traces and captures follow from it. */
@NullMarked
package dev.metaroce.event;

import org.jspecify.annotations.NullMarked;
