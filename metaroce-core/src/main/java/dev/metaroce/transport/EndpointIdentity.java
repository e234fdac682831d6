package dev.metaroce.transport;

/**
 * Who an endpoint is.
 *
 * @param endpointId random, fixed for the life of the process
 * @param incarnation start time in units of 10 ms modulo 2^32, so that of two incarnations at one
 *     address the newer can be told (compared as serial numbers)
 */
public record EndpointIdentity(long endpointId, int incarnation) {}
