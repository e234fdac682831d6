/** UDP ports that pump an engine over real sockets. */
@NullMarked
package dev.metaroce.net;

import org.jspecify.annotations.NullMarked;
