package dev.metaroce.transport;

import dev.metaroce.wire.AddressList;
import dev.metaroce.wire.NetAddress;

import java.util.List;

/**
 * Who an endpoint is.
 *
 * @param endpointId random, fixed for the life of the process
 * @param incarnation start time in units of 10 ms modulo 2^32, so that of two incarnations at one
 *     address the newer can be told (compared as serial numbers)
 * @param addresses of its planes, in their order, of which peers are told; empty when it has one
 */
public record EndpointIdentity(long endpointId, int incarnation, List<NetAddress> addresses) {
    public EndpointIdentity {
        if (addresses.size() == 1 || addresses.size() > AddressList.MAX) {
            throw new IllegalArgumentException(
                    "addresses: " + addresses.size() + " is neither 0 nor 2.." + AddressList.MAX);
        }
        addresses = List.copyOf(addresses);
    }

    /** An endpoint with one address. */
    public EndpointIdentity(long endpointId, int incarnation) {
        this(endpointId, incarnation, List.of());
    }

    /** How many planes it has, at least 1. */
    int planes() {
        return Math.max(1, addresses.size());
    }

    /** At most so many of the addresses. */
    NetAddress[] addresses(int most) {
        return addresses.stream().limit(most).toArray(NetAddress[]::new);
    }
}
