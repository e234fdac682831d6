/** The fault relay as a command. */
@NullMarked
package dev.metaroce.tools.relay;

import org.jspecify.annotations.NullMarked;
