/** What all subcommands share: exit codes, one-line errors, numbers, colours, JSON. */
@NullMarked
package dev.metaroce.tools.cli;

import org.jspecify.annotations.NullMarked;
