/** RoCEv2 packets: bytes to fields and back; no decisions. */
@NullMarked
package dev.metaroce.wire.roce;

import org.jspecify.annotations.NullMarked;
