package dev.metaroce.testing;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.Arena;

/**
 * A client that holds a context of a server for as long as a test likes: it sends to a queue pair
 * that has no receive.
 */
public final class Occupant {
    private static final int FIRST_SERVICE = 1_000;

    public final Lab.Node node;
    public final Connection connection;
    private final Lab lab;
    private final CompletionQueue done;
    private QueuePair server;

    /** Connects, and returns when the context is held. */
    public Occupant(Lab lab, Lab.Node target, int number) {
        this.lab = lab;
        node = lab.add(DeviceLimits.defaults().toBuilder().giveUpNs(3_600_000_000_000L).build());
        int service = FIRST_SERVICE + number;
        target.device.listen(
                service,
                request -> {
                    CompletionQueue queue = target.device.createCompletionQueue(2);
                    server =
                            request.connection()
                                    .createQueuePair(
                                            target.device.allocProtectionDomain(),
                                            queue,
                                            queue,
                                            1,
                                            1);
                    request.accept();
                });
        connection = node.device.connect(target.address, service, new byte[0]);
        done = node.device.createCompletionQueue(2);
        ProtectionDomain domain = node.device.allocProtectionDomain();
        MemoryRegion nothing = domain.register(Arena.ofAuto().allocate(8), 0);
        connection.createQueuePair(domain, done, done, 1, 1).postSend(1, nothing, 0, 0);
        lab.expect("a context to hold", () -> connection.cid() >= 0, 1_000_000_000L);
        lab.advance(1_000_000);
    }

    /** Finishes; the context is free when this returns. */
    public void leave() {
        server.postReceive(1);
        lab.expect(
                "a context given back",
                () -> done.size() == 1 && connection.cid() < 0,
                1_000_000_000L);
    }
}
