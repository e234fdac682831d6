package dev.metaroce.net;

import java.util.List;

class NioPortTest extends PortContract {
    @Override
    Port open(PortOptions options) {
        return NioPort.open(options, List.of());
    }

    @Override
    int routesWithoutAllocation() {
        // the JDK makes an address object whenever the sender is another than before
        return 1;
    }

    @Override
    int mostPerCall(int datagramsMax) {
        return datagramsMax;
    }
}
