package dev.metaroce.testing;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/**
 * One server and any number of clients of it, each with a connection, a queue pair and a region.
 */
public final class Peers {
    private static final long SERVICE = 9;

    public final Lab lab;
    public final Lab.Node server;
    public final List<Client> clients = new ArrayList<>();
    private final ProtectionDomain serverDomain;
    private final MemoryRegion target;
    private final int depth;

    /** One client; it writes to its own part of the server's region. */
    public final class Client {
        public final Lab.Node node;
        public final int number;
        public Connection connection;
        public QueuePair qp;
        public CompletionQueue done;
        public MemoryRegion region;
        public final List<WorkCompletion> completions = new ArrayList<>();
        private final ProtectionDomain domain;
        private int posted;
        private long bytes;

        private Client(int number, DeviceLimits limits) {
            this.number = number;
            node = spoken.add(lab, limits);
            domain = node.device.allocProtectionDomain();
            region = domain.register(Arena.ofAuto().allocate(partBytes, 8), 0);
            region.segment().fill((byte) (number + 1));
            dial();
        }

        /** A new connection to the server. */
        public void dial() {
            done = node.device.createCompletionQueue(2 * depth);
            connection = node.device.connect(server.address, SERVICE, new byte[0]);
            qp = connection.createQueuePair(domain, done, done, depth, depth);
        }

        /** Posts one WRITE if the queue takes it. */
        public boolean write(int length) {
            boolean ok =
                    qp.postWrite(
                                    posted,
                                    region,
                                    0,
                                    length,
                                    target.address() + number * (long) partBytes,
                                    target.rkey())
                            == dev.metaroce.ring.PostResult.OK;
            posted += ok ? 1 : 0;
            return ok;
        }

        public void poll() {
            WorkCompletion wc = new WorkCompletion();
            while (done.poll(wc)) {
                bytes += wc.byteLength();
                completions.add(wc);
                wc = new WorkCompletion();
            }
        }

        public int posted() {
            return posted;
        }

        /** Bytes of completed WRITEs. */
        public long bytes() {
            return bytes;
        }

        public boolean isDone() {
            poll();
            return completions.size() == posted;
        }

        /** True when the server's part is what the client has. */
        public boolean isPlaced() {
            return region.segment()
                            .mismatch(
                                    target.segment().asSlice(number * (long) partBytes, partBytes))
                    == -1;
        }
    }

    private final int partBytes;
    private final Spoken spoken;

    public Peers(long seed, DeviceLimits serverLimits, int clients, int partBytes, int depth) {
        this(Spoken.METAROCE, seed, serverLimits, clients, partBytes, depth);
    }

    public Peers(
            Spoken spoken,
            long seed,
            DeviceLimits serverLimits,
            int clients,
            int partBytes,
            int depth) {
        this.spoken = spoken;
        this.partBytes = partBytes;
        this.depth = depth;
        lab = new Lab(seed);
        server = spoken.add(lab, serverLimits);
        serverDomain = server.device.allocProtectionDomain();
        target =
                serverDomain.register(
                        Arena.ofAuto().allocate((long) clients * partBytes, 8),
                        Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        CompletionQueue all = server.device.createCompletionQueue(1 << 20);
        server.device.listen(
                SERVICE,
                request -> {
                    request.connection().createQueuePair(serverDomain, all, all, 1, 1);
                    request.accept();
                });
    }

    public Client add(DeviceLimits limits) {
        Client client = new Client(clients.size(), limits);
        clients.add(client);
        return client;
    }

    public void add(int count, DeviceLimits limits) {
        for (int i = 0; i < count; i++) {
            add(limits);
        }
    }

    public void expectOpen(long maxNs) {
        lab.expect(
                "all connected",
                () -> clients.stream().allMatch(c -> c.connection.state() == ConnectionState.OPEN),
                maxNs);
    }

    public void expectDone(long maxNs) {
        lab.expect("all writes", () -> clients.stream().allMatch(Client::isDone), maxNs);
    }

    public void expectNoContexts(long maxNs) {
        lab.expect("contexts given back", () -> server.device.contextsInUse() == 0, maxNs);
    }
}
