/** The metaroce command and its subcommands. */
@NullMarked
package dev.metaroce.tools;

import org.jspecify.annotations.NullMarked;
