/** One device: dispatch, fairness and deadlines, pumped by a driver. */
@NullMarked
package dev.metaroce.engine;

import org.jspecify.annotations.NullMarked;
