/** The rings between application threads and the engine thread. */
@NullMarked
package dev.metaroce.ring;

import org.jspecify.annotations.NullMarked;
