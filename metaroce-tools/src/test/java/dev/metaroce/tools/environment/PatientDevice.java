package dev.metaroce.tools.environment;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.Transport;
import dev.metaroce.net.UdpDevice;

/** A device of RoCEv2 for programs that talk with Soft-RoCE in its slow virtual machine. */
final class PatientDevice {
    /** What Linux makes of an interface of 1500 bytes. */
    static final int MTU = 1024;

    /** 4.096 us * 2^17, 0.5 s. */
    private static final int ACK_TIMEOUT = 17;

    private PatientDevice() {}

    static UdpDevice open(String here) {
        DeviceOptions.Builder options =
                DeviceOptions.builder()
                        .transport(Transport.ROCE_V2)
                        .roce(settings -> settings.ackTimeout(ACK_TIMEOUT));
        return UdpDevice.open(options.bind(here).payloadMtu(MTU).build());
    }
}
