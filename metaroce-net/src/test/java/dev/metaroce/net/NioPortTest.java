package dev.metaroce.net;

import java.util.List;

class NioPortTest extends PortContract {
    @Override
    Port open(PortOptions options) {
        return NioPort.open(options, List.of());
    }

    @Override
    int mostPerCall(int datagramsMax) {
        return datagramsMax;
    }
}
