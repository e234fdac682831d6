/** Measurements that a simulation can repeat: what a design promises, in numbers. */
@NullMarked
package dev.metaroce.sim.study;

import org.jspecify.annotations.NullMarked;
