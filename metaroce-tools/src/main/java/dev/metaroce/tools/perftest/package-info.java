/** What the programs of perftest say to each other over TCP before and after a test. */
@NullMarked
package dev.metaroce.tools.perftest;

import org.jspecify.annotations.NullMarked;
