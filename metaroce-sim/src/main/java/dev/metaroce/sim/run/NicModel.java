package dev.metaroce.sim.run;

import dev.metaroce.sim.ConfigException;

/**
 * What a NIC takes time for beside the wire. All zero: a NIC as fast as its links. What waits to be
 * received is not bounded, and stops no sender.
 *
 * @param rxPacketPs to receive a packet, one after the other
 * @param txPacketPs to make a packet, one after the other
 * @param busPs from the NIC to memory or back, as PCI Express; does not keep the NIC busy
 * @param contexts receive contexts that the NIC has room for, those used last; 0: for all
 * @param missPs to fetch a context that the NIC does not have, while it receives nothing else
 */
public record NicModel(long rxPacketPs, long txPacketPs, long busPs, int contexts, long missPs) {
    public static final NicModel NONE = new NicModel(0, 0, 0, 0, 0);

    /**
     * A NIC that shows the published cliff of context caches (PCI Express read misses of a ConnectX
     * with dynamically connected responders, docs/rocev2.md): 94.6 M requests per second with 140
     * contexts and 20.1 M with 2,240, when 54 % of them missed.
     */
    public static NicModel published() {
        return new NicModel(10_571, 0, 0, 1_031, 72_600);
    }

    public NicModel {
        if (rxPacketPs < 0 || txPacketPs < 0 || busPs < 0 || contexts < 0 || missPs < 0) {
            throw new ConfigException(
                    "NIC: rx %d ps, tx %d ps, bus %d ps, %d contexts, miss %d ps: all from 0 up"
                            .formatted(rxPacketPs, txPacketPs, busPs, contexts, missPs));
        }
    }
}
