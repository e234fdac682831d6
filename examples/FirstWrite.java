import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/** Writes a few bytes into the memory of another device; both are in one process to be short. */
public final class FirstWrite {
    public static void main(String[] args) {
        DeviceOptions options = DeviceOptions.builder().bind("127.0.0.1").port(0).build();
        try (UdpDevice receiver = UdpDevice.open(options);
                UdpDevice sender = UdpDevice.open(options)) {
            MemorySegment memory = offer(receiver);
            write(sender, receiver, "hello, memory");
            System.out.println("the receiver's memory says: " + memory.getString(0));
        }
    }

    /** The receiver: registers memory and tells whoever connects where it is. */
    private static MemorySegment offer(UdpDevice device) {
        MemorySegment memory = Arena.ofAuto().allocate(4096);
        ProtectionDomain domain = device.rdma().allocProtectionDomain();
        MemoryRegion region = domain.register(memory, Access.REMOTE_WRITE);
        CompletionQueue completions = device.rdma().createCompletionQueue(2);
        byte[] where = new byte[RegionDescriptor.BYTES];
        region.descriptor().put(ByteBuffer.wrap(where));
        device.rdma()
                .listen(
                        1,
                        request -> {
                            request.connection().createQueuePair(domain, completions, completions, 1, 1);
                            request.accept(where);
                        });
        return memory;
    }

    /** The sender: connects, posts one WRITE and waits for its completion. */
    private static void write(UdpDevice device, UdpDevice target, String text) {
        MemorySegment bytes = Arena.ofAuto().allocateFrom(text);
        ProtectionDomain domain = device.rdma().allocProtectionDomain();
        MemoryRegion local = domain.register(bytes, 0);
        CompletionQueue completions = device.rdma().createCompletionQueue(2);
        Connection connection =
                device.rdma()
                        .connect(
                                Addresses.toNetAddress(target.localAddress()), 1, new byte[0]);
        QueuePair pair = connection.createQueuePair(domain, completions, completions, 1, 1);
        if (!device.rdma().awaitOpen(connection, TimeUnit.SECONDS.toNanos(5))) {
            throw new IllegalStateException(connection.failure());
        }
        RegionDescriptor remote =
                RegionDescriptor.get(ByteBuffer.wrap(connection.peerPrivateData()));
        pair.postWrite(7, local, 0, local.length(), remote.address(), remote.rkey());
        WorkCompletion completion = new WorkCompletion();
        while (!completions.poll(completion)) {
            Thread.onSpinWait();
        }
        System.out.println(completion);
    }
}
