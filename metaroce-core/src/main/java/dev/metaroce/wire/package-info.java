/**
 * Bytes to fields and back, without decisions: the packets of wire version 1, the check at the door
 * and a readable view for tests, logs and tools.
 */
@NullMarked
package dev.metaroce.wire;

import org.jspecify.annotations.NullMarked;
