package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

class PerfParametersTest {
    private static final PerfParameters SOME =
            new PerfParameters(
                    PerfTest.SEND_BW,
                    true,
                    true,
                    1L << 31,
                    128,
                    new Posting(16_384, 128, 100),
                    1,
                    0xC0FFEE,
                    -1);

    private static PerfParameters writes(long bytes) {
        Posting one = Posting.ofDepth(1);
        return new PerfParameters(PerfTest.WRITE_BW, false, false, bytes, 128, one, 1, 1, 1);
    }

    @Test
    void surviveTheWireAndFitPrivateData() {
        byte[] bytes = SOME.encode();

        assertThat(bytes).hasSizeLessThanOrEqualTo(64);
        assertThat(PerfParameters.decode(bytes)).isEqualTo(SOME);
    }

    @Test
    void foreignOrDamagedBytesAreNotTaken() {
        byte[] otherVersion = SOME.encode();
        otherVersion[4]++;
        byte[] otherTest = SOME.encode();
        otherTest[5] = 99;
        byte[] noQps = SOME.encode();
        noQps[6] = 0;
        noQps[7] = 0;
        byte[] hugeMessage = SOME.encode();
        hugeMessage[8] = 1;

        assertThat(PerfParameters.decode(new byte[0])).isNull();
        assertThat(PerfParameters.decode(new byte[64])).isNull();
        assertThat(PerfParameters.decode(otherVersion)).isNull();
        assertThat(PerfParameters.decode(otherTest)).isNull();
        assertThat(PerfParameters.decode(noQps)).isNull();
        assertThat(PerfParameters.decode(hugeMessage)).isNull();
    }

    @Test
    void everyWelcomeSurvivesTheWire() {
        for (Welcome welcome : Welcome.values()) {
            assertThat(Welcome.decode(welcome.encode())).isEqualTo(welcome);
        }
        assertThat(Welcome.decode(new byte[0])).isNull();
        assertThat(Welcome.decode(new byte[8])).isNull();
    }

    @Test
    void aNewerServerIsRecognisedAsAnotherVersion() {
        byte[] newer = Welcome.OK.encode();
        newer[5]++;

        assertThat(Welcome.decode(newer)).isEqualTo(Welcome.VERSION);
    }

    @Test
    void landingPlacesStayWithinTheirMemory() {
        PerfParameters small = writes(65_536);
        PerfParameters large = writes(1L << 31);

        assertThat(small.slots()).isEqualTo(128);
        assertThat(large.slots()).isEqualTo(1);
    }

    @Test
    void aShortMessageIsTheBeginningOfALongOne() {
        MemorySegment memory = Arena.ofAuto().allocate(100);
        Pattern.fill(memory, 0, 100, 5);

        for (int bytes = 0; bytes <= 100; bytes++) {
            assertThat(Pattern.matches(memory, 0, 0, bytes, 5)).isTrue();
        }
        assertThat(Pattern.matches(memory, 0, 0, 1, 6)).isFalse();
    }

    @Test
    void thePatternNoticesAnyChangedByteAndEmptyMemory() {
        for (long bytes : new long[] {1, 7, 8, 9, 63, 1000}) {
            MemorySegment memory = Arena.ofAuto().allocate(bytes + 3);
            assertThat(Pattern.matches(memory, 3, 0, bytes, 5)).isFalse();
            Pattern.fill(memory, 3, bytes, 5);
            assertThat(Pattern.matches(memory, 3, 0, bytes, 5)).isTrue();
            long half = bytes / 2 & -8;
            assertThat(Pattern.matches(memory, 3, half, bytes - half, 5)).isTrue();
            for (long i = 0; i < bytes; i++) {
                byte right = memory.get(ValueLayout.JAVA_BYTE, 3 + i);
                memory.set(ValueLayout.JAVA_BYTE, 3 + i, (byte) (right ^ 0x10));
                assertThat(Pattern.matches(memory, 3, 0, bytes, 5)).isFalse();
                memory.set(ValueLayout.JAVA_BYTE, 3 + i, right);
            }
        }
    }
}
