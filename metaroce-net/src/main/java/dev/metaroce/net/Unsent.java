package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

/**
 * A datagram that the system did not take.
 *
 * @param to where it should have gone
 * @param why the system's words
 */
record Unsent(NetAddress to, String why) {}
