/** RoCEv2: reliable connections over the same regions, rings and timers as MetaRoCE. */
@NullMarked
package dev.metaroce.rocev2;

import org.jspecify.annotations.NullMarked;
