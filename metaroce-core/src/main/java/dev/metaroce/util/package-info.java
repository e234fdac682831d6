/** Serial arithmetic, bitmaps, deadlines and seeded randomness: the tools every other package uses. */
@NullMarked
package dev.metaroce.util;

import org.jspecify.annotations.NullMarked;
