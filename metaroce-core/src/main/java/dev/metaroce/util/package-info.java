/** Serial arithmetic, bitmaps, deadlines and seeded randomness. */
@NullMarked
package dev.metaroce.util;

import org.jspecify.annotations.NullMarked;
