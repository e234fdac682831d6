/** What applications see: devices, queue pairs, completions. */
@NullMarked
package dev.metaroce.verbs;

import org.jspecify.annotations.NullMarked;
