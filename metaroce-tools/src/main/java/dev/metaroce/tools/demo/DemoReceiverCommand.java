package dev.metaroce.tools.demo;

import dev.metaroce.event.EventId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.Digest;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.tools.link.MessageChannel;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * The other process of the demo: offers memory, waits until the file is in it, answers its hash.
 * Started by {@code metaroce demo}; it speaks to its parent by lines on standard output.
 */
@Command(name = DemoReceiverCommand.NAME, hidden = true)
public final class DemoReceiverCommand implements Callable<Integer> {
    static final String NAME = "demo-receiver";
    static final String PORT = "PORT ";
    private static final int PACKETS_PER_CLOCK = 4096;

    @Spec private CommandSpec spec;

    @Option(names = "--profile", required = true)
    private Profile profile;

    @Option(names = "--bytes", required = true)
    private long bytes;

    private @Nullable MessageChannel channel;
    private final WorkCompletion completion = new WorkCompletion();
    private final Idle idle = new Idle();
    private int contextsPeak;

    @Override
    public Integer call() {
        ChildJvm.endWithParent();
        PrintWriter out = spec.commandLine().getOut();
        DeviceOptions options =
                DeviceOptions.builder()
                        .bind("127.0.0.1")
                        .port(0)
                        .limits(DemoMessage.limits())
                        .profiles(profile.code())
                        .driveMode(DriveMode.INLINE)
                        .events((nowNs, id, a, b, c) -> tell(out, nowNs, id, a, b, c))
                        .build();
        try (Endpoint endpoint = Endpoint.open(options)) {
            receive(endpoint.rdma(), out, endpoint.localAddress().getPort());
        }
        return 0;
    }

    private static void tell(PrintWriter out, long nowNs, EventId id, long a, long b, long c) {
        String line = LifeLine.encode(nowNs, id, a, b, c);
        if (!line.isEmpty()) {
            out.println(line);
            out.flush();
        }
    }

    private void receive(RdmaDevice device, PrintWriter out, int port) {
        ProtectionDomain domain = device.allocProtectionDomain();
        MemoryRegion region = allocate(domain, bytes);
        CompletionQueue sent = device.createCompletionQueue(1);
        CompletionQueue notices = device.createCompletionQueue(1);
        byte[] where = new byte[RegionDescriptor.BYTES];
        region.descriptor().put(ByteBuffer.wrap(where));
        device.listen(
                DemoMessage.SERVICE,
                request -> {
                    channel =
                            new MessageChannel(
                                    device, request.connection(), domain, Arena.ofAuto());
                    QueuePair pair =
                            request.connection().createQueuePair(domain, sent, notices, 1, 1);
                    pair.postReceive(1);
                    request.accept(where);
                });
        out.println(PORT + port);
        out.flush();
        while (channel == null) {
            turn(device);
        }
        MessageChannel talk = channel;
        while (!notices.poll(completion)) {
            turn(device);
        }
        if (completion.status() != WcStatus.SUCCESS) {
            QueuePair pair = (QueuePair) completion.owner();
            throw LinkFailure.of(pair.connection(), "the file", completion);
        }
        String hash = Digest.sha256(region.segment(), device::progress);
        talk.send(
                new DemoMessage(
                        hash,
                        device.limits().contexts(),
                        contextsPeak,
                        device.contextTableBytes(),
                        CounterSnapshot.of(List.of(device.counters())).nonZero()));
        while (true) {
            turn(device); // until the parent ends this process
        }
    }

    private void turn(RdmaDevice device) {
        int moved = 0;
        for (int i = 0; i < PACKETS_PER_CLOCK && moved == 0; i++) {
            moved = device.progress();
            if (moved == 0) {
                idle.pause(false);
            }
        }
        if (moved > 0) {
            idle.reset();
        }
        contextsPeak = Math.max(contextsPeak, device.contextsInUse());
    }

    private static MemoryRegion allocate(ProtectionDomain domain, long bytes) {
        try {
            MemorySegment memory = Arena.ofAuto().allocate(Math.max(1, bytes), 4096);
            return domain.register(memory.asSlice(0, bytes), Access.REMOTE_WRITE);
        } catch (OutOfMemoryError e) {
            throw ToolException.environment(
                    "no memory for %,d bytes (%s): send less with --size"
                            .formatted(bytes, e.getMessage()));
        }
    }
}
