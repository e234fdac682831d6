package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.management.ThreadMXBean;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

@EnabledOnOs(OS.LINUX)
class NativeLibcTest {
    private static final int CALLS = 20_000;
    private static final int ROUNDS_MAX = 200;

    @TempDir Path directory;

    /**
     * The JDK makes a slice of the segment for the error number in every call; the compiler removes
     * it only where it knows of what kind that segment is. What it has watched is not enough: on a
     * busy machine code is compiled before it was watched. The other machine of this test never
     * watches.
     */
    @Test
    void aCallAllocatesNothingWhereSegmentsOfAllKindsAreSliced() throws Exception {
        Process process =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:-UseTypeProfile",
                                "--enable-native-access=ALL-UNNAMED",
                                "-cp",
                                System.getProperty("java.class.path"),
                                NativeLibcTest.class.getName(),
                                directory.resolve("mapped").toString())
                        .redirectErrorStream(true)
                        .start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said.strip()).isEqualTo("0 bytes");
    }

    /** Prints the bytes allocated in a round of calls. */
    public static void main(String[] arguments) throws IOException {
        if (sliceSegmentsOfAllKinds(Path.of(arguments[0])) != CALLS) {
            throw new AssertionError("a slice was not one byte long");
        }
        NativeLibc libc = new NativeLibc();
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < ROUNDS_MAX && allocated > 0; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int call = 0; call < CALLS; call++) {
                if (libc.sendmmsg(-1, 0, 1) + libc.recvmmsg(-1, 0, 1) >= 0) {
                    throw new AssertionError("a call on no descriptor succeeded");
                }
            }
            allocated = threads.getCurrentThreadAllocatedBytes() - before;
        }
        System.out.println(allocated + " bytes");
    }

    private static long sliceSegmentsOfAllKinds(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined();
                FileChannel channel =
                        FileChannel.open(
                                file,
                                StandardOpenOption.CREATE,
                                StandardOpenOption.READ,
                                StandardOpenOption.WRITE)) {
            MemorySegment[] segments = {
                arena.allocate(64),
                channel.map(FileChannel.MapMode.READ_WRITE, 0, 64, arena),
                MemorySegment.ofArray(new byte[64]),
                MemorySegment.ofArray(new long[8]),
            };
            long bytes = 0;
            for (int i = 0; i < CALLS; i++) {
                MemorySegment segment = segments[i % segments.length];
                bytes += segment.asSlice(0, ValueLayout.JAVA_BYTE).byteSize();
            }
            return bytes;
        }
    }
}
