import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

/** Writes a few bytes into the memory of another device; both are in one process to be short. */
public final class FirstWrite {
    private static final long SECOND = 1_000_000_000L;

    public static void main(String[] args) {
        try (UdpDevice receiver = UdpDevice.open("127.0.0.1", 0);
                UdpDevice sender = UdpDevice.open("127.0.0.1", 0)) {
            // The receiver registers memory and tells whoever connects where it is.
            ProtectionDomain there = receiver.rdma().allocProtectionDomain();
            MemoryRegion target = there.allocate(4096, Access.REMOTE_WRITE);
            CompletionQueue unused = receiver.rdma().createCompletionQueue(2);
            receiver.rdma().listen(1, request -> {
                request.connection().createQueuePair(there, unused, unused, 1, 1);
                request.accept(target.descriptor().toBytes());
            });
            // The sender connects, posts one WRITE and waits for its completion.
            ProtectionDomain here = sender.rdma().allocProtectionDomain();
            MemoryRegion source = here.allocate(4096, 0);
            source.segment().setString(0, "hello, memory");
            CompletionQueue done = sender.rdma().createCompletionQueue(2);
            Connection connection = sender.rdma().connect(receiver.address(), 1, new byte[0]);
            QueuePair pair = connection.createQueuePair(here, done, done, 1, 1);
            connection.awaitOpen(5 * SECOND);
            RegionDescriptor to = RegionDescriptor.of(connection.peerPrivateData());
            pair.postWrite(7, source, 0, source.length(), to.address(), to.rkey());
            WorkCompletion completion = new WorkCompletion();
            System.out.println(done.await(completion, 5 * SECOND) ? completion : "no answer");
            System.out.println("the receiver's memory says: " + target.segment().getString(0));
        }
    }
}
