/** Endpoints, small messages and waiting, on which perf and the demo stand. */
@NullMarked
package dev.metaroce.tools.link;

import org.jspecify.annotations.NullMarked;
