/** The MetaRoCE state machines. */
@NullMarked
package dev.metaroce.transport;

import org.jspecify.annotations.NullMarked;
