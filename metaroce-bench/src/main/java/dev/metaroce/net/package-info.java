/** Measurements inside the package of the ports, which others need not see. */
@NullMarked
package dev.metaroce.net;

import org.jspecify.annotations.NullMarked;
