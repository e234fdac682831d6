/** Bytes to fields and back; no decisions. */
@NullMarked
package dev.metaroce.wire;

import org.jspecify.annotations.NullMarked;
