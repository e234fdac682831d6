/** Charts as SVG files. */
@NullMarked
package dev.metaroce.tools.chart;

import org.jspecify.annotations.NullMarked;
