package dev.metaroce.net;

import dev.metaroce.event.EventSink;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;

import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * How to open a {@link UdpDevice}. Immutable.
 *
 * <pre>{@code
 * DeviceOptions options = DeviceOptions.builder().bind("127.0.0.1").port(0).build();
 * }</pre>
 */
public final class DeviceOptions {
    private final Transport transport;
    private final List<String> bindHosts;
    private final int port;
    private final String targetHint;
    private final DeviceLimits limits;
    private final DriveMode driveMode;
    private final EventSink events;
    private final boolean seeded;
    private final long seed;
    private final int socketBufferBytes;
    private final SocketKind sockets;
    private final boolean gso;
    private final boolean gro;
    private final boolean ecn;
    private final int dscp;
    private final boolean checksums;
    private final IdleStrategy idle;
    private final long spinNs;
    private final long sleepNsMax;
    private final UnaryOperator<RoceSettings.Builder> roce;

    private DeviceOptions(Builder from) {
        transport = from.transport;
        bindHosts = from.bindHosts;
        port = from.port == Builder.PORT_OF_TRANSPORT ? transport.defaultPort() : from.port;
        targetHint = from.targetHint;
        limits = from.limits;
        driveMode = from.driveMode;
        events = from.events;
        seeded = from.seeded;
        seed = from.seed;
        socketBufferBytes = from.socketBufferBytes;
        sockets = from.sockets;
        gso = from.gso;
        gro = from.gro;
        ecn = from.ecn;
        dscp = from.dscp;
        checksums = from.checksums;
        idle = from.idle;
        spinNs = from.spinNs;
        sleepNsMax = from.sleepNsMax;
        roce = from.roce;
    }

    /** A builder with the values for an ordinary endpoint. */
    public static Builder builder() {
        return new Builder();
    }

    /** What the device speaks. */
    public Transport transport() {
        return transport;
    }

    /** Addresses or names to bind, one per plane; empty for the wildcard (IPv4 and IPv6). */
    public List<String> bindHosts() {
        return bindHosts;
    }

    /** UDP port, 0..65535; 0 takes any free one. */
    public int port() {
        return port;
    }

    /** Host towards which the payload size is chosen; empty when there is none. */
    public String targetHint() {
        return targetHint;
    }

    /**
     * Limits as asked for; {@link UdpDevice#open} may lower the payload size to what links carry.
     */
    public DeviceLimits limits() {
        return limits;
    }

    public DriveMode driveMode() {
        return driveMode;
    }

    public EventSink events() {
        return events;
    }

    /** True when {@link #seed} replaces the secure generator: for tests only. */
    public boolean isSeeded() {
        return seeded;
    }

    public long seed() {
        return seed;
    }

    /** Size asked for each socket buffer, in bytes. */
    public int socketBufferBytes() {
        return socketBufferBytes;
    }

    /** By which means sockets are used. */
    public SocketKind sockets() {
        return sockets;
    }

    /** True unless UDP segmentation offload is switched off. */
    public boolean gso() {
        return gso;
    }

    /** True unless UDP receive offload is switched off. */
    public boolean gro() {
        return gro;
    }

    /** True unless congestion marks are switched off. */
    public boolean ecn() {
        return ecn;
    }

    /** Differentiated services code point of what is sent, 0..63. */
    public int dscp() {
        return dscp;
    }

    /** False when packets carry no CRC, against the specification; see the builder. */
    public boolean checksums() {
        return checksums;
    }

    /** What the driver does when there is nothing to do. */
    public IdleStrategy idle() {
        return idle;
    }

    /** How long an idle driver goes on looking before it sleeps, in nanoseconds. */
    public long spinNs() {
        return spinNs;
    }

    /** What {@link Builder#roce} set. */
    UnaryOperator<RoceSettings.Builder> roce() {
        return roce;
    }

    /** Longest sleep of an idle driver, in nanoseconds. */
    long sleepNsMax() {
        return sleepNsMax;
    }

    /** Collects options; {@link #build} makes the immutable form. */
    public static final class Builder {
        /** As long as falling asleep and waking up take; more is lost on a core that is shared. */
        private static final long SPIN_NS_DEFAULT = 30_000;

        /** So that a driver looks at its state now and then, whatever happens. */
        private static final long SLEEP_NS_DEFAULT = 10_000_000;

        /** Sending sockets beyond one per path, to which a path in trouble can move. */
        private static final int SPARE_ROUTES = 2;

        private static final int PORT_OF_TRANSPORT = -1;

        private Transport transport = Transport.METAROCE;
        private List<String> bindHosts = List.of();
        private int port = PORT_OF_TRANSPORT;
        private String targetHint = "";
        private DeviceLimits limits = DeviceLimits.defaults();
        private DriveMode driveMode = DriveMode.THREAD;
        private EventSink events = EventSink.NONE;
        private boolean seeded;
        private long seed;
        private int socketBufferBytes = Port.WANTED_BUFFER_BYTES;
        private SocketKind sockets = SocketKind.AUTO;
        private boolean gso = true;
        private boolean gro = true;
        private boolean ecn = true;
        private int dscp;
        private boolean checksums = true;
        private IdleStrategy idle = IdleStrategy.PARK;
        private long spinNs = SPIN_NS_DEFAULT;
        private long sleepNsMax = SLEEP_NS_DEFAULT;
        private UnaryOperator<RoceSettings.Builder> roce = UnaryOperator.identity();

        private Builder() {}

        /**
         * What the device speaks; the default is MetaRoCE. RoCEv2 needs {@link #bind}: its checksum
         * covers the address.
         */
        public Builder transport(Transport value) {
            transport = value;
            return this;
        }

        /**
         * Addresses or names to bind, without port. Exactly one address of this machine makes the
         * device answer from there; several of one family make it reachable on each, with sockets
         * of their own (planes). The default is all addresses, with one set of sockets.
         */
        public Builder bind(String... hosts) {
            bindHosts = Arrays.stream(hosts).map(String::strip).toList();
            return this;
        }

        /**
         * Changes to what a device of RoCEv2 is like, beside its limits: time-outs, retries,
         * window. Its addresses and ports follow from the sockets.
         */
        public Builder roce(UnaryOperator<RoceSettings.Builder> changes) {
            roce = changes;
            return this;
        }

        /**
         * UDP port, 0..65535; 0 takes any free one. The default is {@link Transport#defaultPort};
         * RoCEv2 has no other.
         */
        public Builder port(int value) {
            port = (int) range("port", value, 0, 65_535);
            return this;
        }

        /**
         * A host (without port) this device is going to talk to: the payload size is lowered to
         * what the interface towards it carries. Servers leave it empty.
         */
        public Builder targetHint(String host) {
            targetHint = host.strip();
            return this;
        }

        /** Replaces all limits; call it before the shorthands below. */
        public Builder limits(DeviceLimits value) {
            limits = value;
            return this;
        }

        /** Paths per lease, 1..64, and as many sending sockets with two to spare. */
        public Builder paths(int value) {
            limits = limits.toBuilder().maxPaths(value).routes(value + SPARE_ROUTES).build();
            return this;
        }

        /** Largest payload per packet in bytes: a multiple of 64, 256..65408. */
        public Builder payloadMtu(int bytes) {
            limits = limits.toBuilder().payloadMtu(bytes).build();
            return this;
        }

        /** Profiles offered and accepted: 1 is S, 2 is M, 3 is both. */
        public Builder profiles(int mask) {
            limits = limits.toBuilder().profiles(mask).build();
            return this;
        }

        /** Who moves the engine; the default is a thread of the device. */
        public Builder driveMode(DriveMode value) {
            driveMode = value;
            return this;
        }

        /** Gets the engine's events, on the engine's thread. */
        public Builder events(EventSink value) {
            events = value;
            return this;
        }

        /**
         * For tests: endpoint id, keys and jitter follow from {@code value} instead of the secure
         * generator. Keys can be guessed then.
         */
        public Builder seed(long value) {
            seeded = true;
            seed = value;
            return this;
        }

        /** Size asked for each socket buffer, 4096..2^30 bytes; the default is 4 MiB. */
        public Builder socketBufferBytes(int value) {
            socketBufferBytes = (int) range("socketBufferBytes", value, 4096, 1 << 30);
            return this;
        }

        /** By which means to use sockets; the default is the best that works here. */
        public Builder sockets(SocketKind value) {
            sockets = value;
            return this;
        }

        /** False switches UDP segmentation offload (UDP_SEGMENT) off. */
        public Builder gso(boolean value) {
            gso = value;
            return this;
        }

        /** False switches UDP receive offload (UDP_GRO) off. */
        public Builder gro(boolean value) {
            gro = value;
            return this;
        }

        /** False: packets are not marked ECN-capable, and congestion marks are not read. */
        public Builder ecn(boolean value) {
            ecn = value;
            return this;
        }

        /**
         * Differentiated services code point of what is sent, 0..63 (RFC 2474); the default is 0.
         * Linux sockets only.
         */
        public Builder dscp(int value) {
            dscp = (int) range("dscp", value, 0, 63);
            return this;
        }

        /**
         * Leaves the CRC of packets out and unchecked, <em>against the specification</em>: damaged
         * packets reach memory. Only to measure what it costs; peers must do the same, others drop
         * everything.
         */
        public Builder unsafeNoCrc() {
            checksums = false;
            return this;
        }

        /** What the driver does when there is nothing to do; the default is to park. */
        public Builder idle(IdleStrategy value) {
            idle = value;
            return this;
        }

        /** How long a driver that parks goes on looking before it sleeps, 0..1 s in nanoseconds. */
        public Builder spinNs(long value) {
            spinNs = range("spinNs", value, 0, 1_000_000_000);
            return this;
        }

        /** For tests: so long a sleep that a lost wake-up shows. */
        Builder sleepNsMax(long value) {
            sleepNsMax = value;
            return this;
        }

        public DeviceOptions build() {
            if (transport == Transport.ROCE_V2
                    && port != PORT_OF_TRANSPORT
                    && port != transport.defaultPort()) {
                throw new IllegalArgumentException(
                        "DeviceOptions: port " + port + ": RoCEv2 packets go to port 4791 only");
            }
            return new DeviceOptions(this);
        }

        private static long range(String field, long value, long min, long max) {
            if (value < min || value > max) {
                throw new IllegalArgumentException(
                        "DeviceOptions: " + field + " " + value + " is not in " + min + ".." + max);
            }
            return value;
        }
    }
}
