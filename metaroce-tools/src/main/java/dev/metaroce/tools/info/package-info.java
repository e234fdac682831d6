/** What this machine and this build can do. */
@NullMarked
package dev.metaroce.tools.info;

import org.jspecify.annotations.NullMarked;
