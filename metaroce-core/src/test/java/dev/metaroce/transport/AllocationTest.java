package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.DirectPair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.management.ManagementFactory;

/** The packet path allocates nothing, on either side. */
class AllocationTest {
    private static final long WARM_UP = 200_000;
    private static final long MEASURED = 1_000_000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @CsvSource({
        "S,false,0",
        "S,true,0",
        "M,false,0",
        "M,true,0",
        "S,false,1001",
        "M,false,1001",
        "M,true,101"
    })
    void aPacketAllocatesNothing(Profile profile, boolean sends, int dropEvery) {
        DirectPair pair =
                new DirectPair(
                        Profiles.only(profile).payloadMtu(1024).build(), sends, 10_000, dropEvery);
        pair.runUntil(WARM_UP);
        long before = THREADS.getCurrentThreadAllocatedBytes();
        pair.runUntil(WARM_UP + MEASURED);
        long bytes = THREADS.getCurrentThreadAllocatedBytes() - before;

        assertThat(pair.completed()).isGreaterThan(10_000);
        assertThat(pair.count(CounterId.DATA_RESENT) > 0).isEqualTo(dropEvery > 0);
        assertThat((double) bytes / MEASURED).as("bytes per packet").isLessThan(1);
    }

    @Test
    void theMeterSeesWhatIsAllocated() {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        Object[] kept = new Object[1_000];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new long[2];
        }
        long bytes = THREADS.getCurrentThreadAllocatedBytes() - before;

        assertThat(kept).doesNotContainNull();
        assertThat(bytes).isGreaterThan(kept.length * 32L);
    }
}
