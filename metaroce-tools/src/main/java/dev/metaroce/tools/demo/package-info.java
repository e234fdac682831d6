/** One file through a lossy network, twice, with the life of its context id shown. */
@NullMarked
package dev.metaroce.tools.demo;

import org.jspecify.annotations.NullMarked;
