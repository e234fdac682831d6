package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.verbs.CompletionChannel;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.Listener;
import dev.metaroce.verbs.RdmaDevice;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Calls that cannot work with a real device: one clear exception each, and never a dead JVM. */
@Timeout(60)
class WrongUseTest {
    private static final long SECOND = 1_000_000_000L;

    private static UdpDevice open(DriveMode mode) {
        return UdpDevice.open(
                DeviceOptions.builder().bind("127.0.0.1").port(0).driveMode(mode).build());
    }

    private static void tooLate(ThrowingCallable call, String why) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(why);
    }

    @Test
    void addressesThatAreNone() {
        assertThatThrownBy(() -> UdpDevice.open("127.0.0.1", 70_000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("port 70000 is not in 0..65535");
        assertThatThrownBy(() -> UdpDevice.open("192.0.2.1", 0))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("192.0.2.1");
        assertThatThrownBy(() -> UdpDevice.open(null, 0)).isInstanceOf(NullPointerException.class);
    }

    @Test
    void aClosedDeviceIsNamed() {
        for (DriveMode mode : DriveMode.values()) {
            UdpDevice udp = open(mode);
            RdmaDevice device = udp.rdma();
            CompletionQueue queue = device.createCompletionQueue(4);
            CompletionChannel channel = device.createCompletionChannel();
            Listener listener = device.listen(1, 4);
            Connection connection = device.connect(udp.address(), 2, new byte[0]);
            udp.close();
            udp.close();
            String why = "the device is closed";
            tooLate(() -> queue.await(new WorkCompletion(), SECOND), why);
            tooLate(() -> channel.take(SECOND), why);
            tooLate(() -> listener.accept(SECOND), why);
            tooLate(() -> connection.awaitOpen(SECOND), why);
            tooLate(() -> device.events().take(SECOND), why);
            tooLate(device::progress, why);
            tooLate(() -> device.idle(1), why);
            listener.close();
            connection.close();
            assertThat(device.contextsInUse()).isZero();
            assertThat(udp.stats()).isNotNull();
            assertThat(udp.warnings()).isNotNull();
        }
    }

    @Test
    void anotherThreadMayNotDriveAnInlineDevice() {
        try (UdpDevice udp = open(DriveMode.INLINE)) {
            RdmaDevice device = udp.rdma();
            CompletionQueue queue = device.createCompletionQueue(4);
            CompletionChannel channel = device.createCompletionChannel();
            device.progress();
            List<Runnable> waits =
                    List.of(
                            () -> queue.await(new WorkCompletion(), SECOND),
                            () -> channel.take(SECOND),
                            () -> device.events().take(SECOND),
                            device::progress);
            for (Runnable wait : waits) {
                assertThatThrownBy(() -> CompletableFuture.runAsync(wait).join())
                        .isInstanceOf(CompletionException.class)
                        .hasCauseInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("must not drive it too");
            }
            assertThat(device.progress()).isNotNegative();
        }
    }

    /** Case C12: what the system says about the way there is in the failure. */
    @Test
    void c12ATargetWithoutRouteIsNamed() {
        try (UdpDevice udp = open(DriveMode.THREAD)) {
            // A device on loopback has no route to the world.
            Connection nowhere =
                    udp.rdma()
                            .connect(
                                    UdpDevice.resolve("192.0.2.1:9", 9),
                                    1,
                                    new byte[0],
                                    SECOND / 5);
            tooLate(
                    () -> nowhere.awaitOpen(10 * SECOND),
                    "not connected within 200 ms: no answer: cannot send there, ");
        }
    }

    @Test
    void aHandlerMayNotWaitForItsOwnEngine() {
        try (UdpDevice udp = open(DriveMode.THREAD)) {
            RdmaDevice device = udp.rdma();
            CompletionQueue queue = device.createCompletionQueue(4);
            CompletionChannel channel = device.createCompletionChannel();
            CompletableFuture<String> seen = new CompletableFuture<>();
            device.listen(
                    1,
                    request -> {
                        StringBuilder all = new StringBuilder();
                        List<Runnable> waits =
                                List.of(
                                        () -> queue.await(new WorkCompletion(), SECOND),
                                        () -> channel.take(SECOND),
                                        () -> device.events().listener(event -> {}),
                                        () -> request.connection().awaitOpen(SECOND));
                        for (Runnable wait : waits) {
                            try {
                                wait.run();
                                all.append("ok ");
                            } catch (IllegalStateException e) {
                                boolean clear = e.getMessage().contains("must not wait");
                                all.append(clear ? "refused " : e.toString());
                            }
                        }
                        request.accept();
                        seen.complete(all.toString());
                    });
            Connection connection = device.connect(udp.address(), 1, new byte[0]);
            assertThat(seen.join()).isEqualTo("refused refused ok refused ");
            assertThat(connection.awaitOpen(10 * SECOND)).isSameAs(connection);
        }
    }
}
