package dev.metaroce.net;

import dev.metaroce.event.CounterId;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A process of stations, for tests that kill, stop and restart one. It ends when its standard input
 * does, so that none is left over.
 *
 * <pre>
 * serve [HOST:PORT]          "at HOST:PORT"; for each line read one "sum CRC32C"; "failed WHY" for
 *                            each connection that failed
 * hold COUNT HOST:PORT       COUNT endpoints that write on and on: "holding" when all did once
 * send HOST:PORT             writes on and on: "sending", for each line read "resent N";
 *                            after a failure "failed WHY", dials again, and "again"
 * storm COUNT HOST:PORT      COUNT endpoints dial at once when a line is read: "served MS..."
 * </pre>
 *
 * The first two arguments of all are the transport, and the give-up time in milliseconds; the
 * silence time is half of it.
 */
final class ChildStation {
    private static final int BYTES = 1 << 20;
    private static final int SMALL = 20_000;
    private static final int THREADS = 2;

    private ChildStation() {}

    public static void main(String[] arguments) throws IOException {
        Transport transport = Transport.valueOf(arguments[0]);
        DeviceLimits limits = limits(Integer.parseInt(arguments[1]));
        InetSocketAddress own = OwnLoopback.free(transport, 0);
        String last = arguments[arguments.length - 1];
        switch (arguments[2]) {
            case "serve" -> serve(transport, last.equals("serve") ? own : address(last), limits);
            case "hold" -> hold(many(Integer.parseInt(arguments[3]), limits), address(last));
            case "send" -> send(address(last), limits);
            case "storm" -> storm(many(Integer.parseInt(arguments[3]), limits), address(last));
            default -> throw new IllegalArgumentException(arguments[2]);
        }
    }

    /** Of "HOST:PORT". */
    static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        int port = Integer.parseInt(text.substring(colon + 1));
        return new InetSocketAddress(text.substring(0, colon), port);
    }

    /** As "HOST:PORT". */
    static String text(InetSocketAddress address) {
        return address.getHostString() + ":" + address.getPort();
    }

    /** The limits of a test whose dead-peer time is this. */
    static DeviceLimits limits(int giveUpMs) {
        return DeviceLimits.defaults().toBuilder()
                .giveUpNs(giveUpMs * 1_000_000L)
                .silenceNs(giveUpMs * 500_000L)
                .build();
    }

    private static void serve(Transport transport, InetSocketAddress at, DeviceLimits limits) {
        Station station = new Station(transport, at, DriveMode.THREAD, limits, BYTES);
        onEachLine(() -> say("sum %d", Station.checksum(station.incoming())));
        say("at %s", text(station.address()));
        while (true) {
            Until.holds(() -> station.accepted.stream().anyMatch(ChildStation::isFailed));
            station.accepted.removeIf(
                    c -> {
                        if (isFailed(c)) {
                            say("failed %s", c.failure());
                        }
                        return isFailed(c);
                    });
        }
    }

    private static boolean isFailed(dev.metaroce.verbs.Connection connection) {
        return connection.state() == ConnectionState.FAILED;
    }

    private static void send(InetSocketAddress peer, DeviceLimits limits) {
        Station station = new Station(DriveMode.THREAD, limits, BYTES);
        onEachLine(() -> say("resent %d", count(station, CounterId.DATA_RESENT)));
        for (String word = "sending"; ; word = "again") {
            Station.Call call = station.call(peer);
            while (call.completed == 0 && !isFailed(call.connection)) {
                call.keepBusy(BYTES / 16);
            }
            say(word);
            while (call.failed == 0 && !isFailed(call.connection)) {
                call.keepBusy(BYTES / 16);
            }
            say("failed %s", call.connection.failure());
        }
    }

    private static long count(Station station, CounterId id) {
        return station.device.rdma().counters().get(id);
    }

    /** Endpoints with one path, each driven by whoever uses it. */
    private static List<Station> many(int count, DeviceLimits limits) {
        DeviceLimits small = limits.toBuilder().maxPaths(1).routes(1).build();
        List<Station> stations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            stations.add(new Station(DriveMode.INLINE, small, SMALL));
        }
        return stations;
    }

    private static void hold(List<Station> stations, InetSocketAddress peer) {
        List<Station.Call> calls = new ArrayList<>();
        onEachLine(() -> {});
        stations.forEach(station -> calls.add(station.call(peer)));
        boolean told = false;
        while (true) {
            int held = 0;
            for (int i = 0; i < calls.size(); i++) {
                Station.Call call = calls.get(i);
                stations.get(i).device.rdma().progress();
                call.poll();
                if (call.posted == call.completed) {
                    call.write(64);
                }
                held += call.completed > 0 ? 1 : 0;
            }
            if (held == calls.size() && !told) {
                told = true;
                say("holding");
            }
        }
    }

    private static void storm(List<Station> stations, InetSocketAddress peer) throws IOException {
        say("ready");
        int ignored = System.in.read();
        onEachLine(() -> {});
        long startNs = System.nanoTime();
        long[] servedMs = new long[stations.size()];
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            int first = t;
            threads.add(new Thread(() -> dial(stations, first, peer, startNs, servedMs)));
        }
        threads.forEach(Thread::start);
        threads.forEach(UdpDriver::joinUninterruptibly);
        Arrays.sort(servedMs);
        say(
                "served %d median %d max %d ms, dialled within %d ms",
                servedMs.length,
                servedMs[servedMs.length / 2],
                servedMs[servedMs.length - 1],
                dialledMs);
    }

    private static volatile long dialledMs;

    private static void dial(
            List<Station> stations,
            int first,
            InetSocketAddress peer,
            long startNs,
            long[] servedMs) {
        List<Station.Call> calls = new ArrayList<>();
        for (int i = first; i < stations.size(); i += THREADS) {
            calls.add(stations.get(i).call(peer));
            stations.get(i).device.rdma().progress();
        }
        dialledMs = Math.max(dialledMs, (System.nanoTime() - startNs) / 1_000_000);
        int left = calls.size();
        while (left > 0) {
            for (int i = 0; i < calls.size(); i++) {
                int number = first + i * THREADS;
                stations.get(number).device.rdma().progress();
                Station.Call call = calls.get(i);
                if (call.posted == 0) {
                    call.write(SMALL);
                } else if (servedMs[number] == 0 && call.isDone()) {
                    servedMs[number] = Math.max(1, (System.nanoTime() - startNs) / 1_000_000);
                    left--;
                }
                if (isFailed(call.connection)) {
                    say("failed %s", call.connection.failure());
                    return;
                }
            }
        }
    }

    /** Reads standard input on a thread of its own, to its end and ours. */
    private static void onEachLine(Runnable answer) {
        Thread reader =
                new Thread(
                        () -> {
                            try {
                                for (int c = System.in.read(); c >= 0; c = System.in.read()) {
                                    if (c == '\n') {
                                        answer.run();
                                    }
                                }
                            } catch (IOException e) {
                                // The end of a pipe, however it comes.
                            }
                            Runtime.getRuntime().halt(0);
                        });
        reader.setDaemon(true);
        reader.start();
    }

    private static synchronized void say(String format, Object... values) {
        System.out.printf(Locale.ROOT, format + "%n", values);
        System.out.flush();
    }
}
