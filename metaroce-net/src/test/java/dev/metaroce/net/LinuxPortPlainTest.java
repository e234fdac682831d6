package dev.metaroce.net;

/** Linux sockets with every feature switched off. */
class LinuxPortPlainTest extends PortContract {
    @Override
    Port open(PortOptions options) {
        return LinuxPort.open(TestPorts.plain(options), new NativeLibc());
    }

    @Override
    int routesWithoutAllocation() {
        return 3;
    }

    @Override
    int mostPerCall(int datagramsMax) {
        return datagramsMax + 16;
    }
}
