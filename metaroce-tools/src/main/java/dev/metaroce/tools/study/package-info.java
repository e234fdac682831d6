/** {@code metaroce study}: measurements in the simulator. */
@NullMarked
package dev.metaroce.tools.study;

import org.jspecify.annotations.NullMarked;
