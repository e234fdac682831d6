package dev.metaroce.tools.perf;

import dev.metaroce.rocev2.RoceConnect;
import dev.metaroce.tools.perftest.Exchange;
import dev.metaroce.tools.perftest.Keys;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;

import java.util.ArrayList;
import java.util.List;

/**
 * One end of a test with perftest at the other: queue pairs that are connected by hand, and memory
 * laid out as perftest does, a stretch of its own for each.
 */
final class PerftestEnd extends PerfEnd {
    /** Short messages of perftest walk through so many bytes. */
    static final long STRETCH_BYTES_MIN = 4096;

    private List<Keys> theirs = List.of();

    PerftestEnd(RdmaDevice device, PerfParameters parameters) {
        super(device, device.connectByHand(), device.allocProtectionDomain(), parameters);
    }

    /** What the other end has to know, when this end's memory is there. */
    List<Keys> keys() {
        List<Keys> all = new ArrayList<>();
        for (int q = 0; q < pairs.length; q++) {
            RoceConnect end = pairs[q].localEnd();
            long slot = q % parameters.slots();
            all.add(
                    new Keys(
                            end.reads(),
                            end.qpn(),
                            end.psn(),
                            landing().descriptor().rkey(),
                            landing().descriptor().address() + slot * parameters.maxMessageBytes(),
                            withoutPort(end.address()),
                            0));
        }
        return all;
    }

    private static NetAddress withoutPort(NetAddress a) {
        return new NetAddress(a.high(), a.low(), 0, 0, 0);
    }

    /** Path MTU that this end would have. */
    int mtu() {
        return pairs[0].localEnd().mtu();
    }

    /** Connects the queue pairs; the connection is open at one of the next turns. */
    void connect(Exchange.Agreement agreed) {
        theirs = agreed.theirs();
        for (int q = 0; q < pairs.length; q++) {
            Keys keys = theirs.get(q);
            pairs[q].connect(
                    new RoceConnect(
                            keys.host(), keys.qpn(), keys.psn(), agreed.mtu(), keys.reads()));
        }
    }

    @Override
    long targetOf(int pair) {
        return theirs.get(pair).address();
    }

    @Override
    int rkeyOf(int pair) {
        return theirs.get(pair).rkey();
    }
}
