/** The first class of the jar, which any Java can load. */
@NullMarked
package dev.metaroce.start;

import org.jspecify.annotations.NullMarked;
