/** Which path comes next and what feedback about it meant. */
@NullMarked
package dev.metaroce.path;

import org.jspecify.annotations.NullMarked;
