/** Tests of {@code metaroce sim}. */
package dev.metaroce.tools.sim;
