/** {@code metaroce connections}: what very many connections of one process take. */
@NullMarked
package dev.metaroce.tools.connections;

import org.jspecify.annotations.NullMarked;
