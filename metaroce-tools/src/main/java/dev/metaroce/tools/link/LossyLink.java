package dev.metaroce.tools.link;

import dev.metaroce.net.FaultRelay;
import dev.metaroce.net.Faults;
import dev.metaroce.net.NetSetupException;
import dev.metaroce.net.RelayOptions;
import dev.metaroce.tools.cli.ToolException;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A relay on loopback that loses packets in both directions. */
public final class LossyLink {
    private LossyLink() {}

    /**
     * Opens the relay in front of a port of this machine; the caller closes it.
     *
     * @param dropRate share of the packets dropped in each direction, 0..1
     * @param seed of the relay's decisions
     */
    public static FaultRelay open(int port, double dropRate, long seed) {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        Faults faults = Faults.builder().dropRate(dropRate).build();
        RelayOptions options =
                RelayOptions.between(
                                new InetSocketAddress(loopback, 0),
                                new InetSocketAddress(loopback, port))
                        .withFaults(seed, faults, faults);
        try {
            return FaultRelay.start(options);
        } catch (NetSetupException e) {
            throw ToolException.environment(String.valueOf(e.getMessage()));
        }
    }
}
