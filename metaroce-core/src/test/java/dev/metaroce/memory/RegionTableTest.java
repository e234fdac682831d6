package dev.metaroce.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;

/** Registration, keys, lookup and the access check, on one thread. */
class RegionTableTest {
    private static final int DOMAIN = 1;

    private final MemorySegment memory = Arena.ofAuto().allocate(4096, 64);

    private static RegionTable seeded(long seed) {
        Rng rng = new Rng(seed);
        return new RegionTable(rng::nextInt);
    }

    private MemoryRegion region(RegionTable table) {
        return table.register(memory, Access.ALL, DOMAIN);
    }

    @Test
    void virtualRegionsHaveAddressesOfTheirOwn() {
        RegionTable table = seeded(1);
        MemoryRegion real = region(table);
        long end = real.address() + real.length();
        for (long length : new long[] {0, 1, 4096, 4097, 1L << 61}) {
            MemoryRegion virtual = table.registerVirtual(length, Access.REMOTE_WRITE, DOMAIN);
            assertThat(virtual.address()).isGreaterThan(end);
            assertThat(virtual.length()).isEqualTo(length);
            assertThat(table.lookup(virtual.rkey())).isSameAs(virtual);
            end = virtual.address() + length;
        }
        assertThat(table.live()).isEqualTo(6);
        assertThatThrownBy(() -> table.registerVirtual(-1, 0, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1 bytes");
        assertThatThrownBy(() -> table.registerVirtual(1L << 61, 0, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("must be in 0..");
        assertThatThrownBy(() -> table.registerVirtual(1, 0x40, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x40");
    }

    /** MR-4.1-2, case A02: region of 4096 bytes, offset and length at and beyond its edges. */
    @ParameterizedTest(name = "offset {0}, length {1}")
    @CsvSource({
        "0, 4096, OK",
        "4095, 1, OK",
        "4095, 2, BOUNDS",
        "4096, 1, BOUNDS",
        "-1, 1, BOUNDS",
        "0, 4097, BOUNDS",
        "-8, 16, BOUNDS", // 2^64 - 8
        "0, 9223372036854775807, BOUNDS",
        "1, 9223372036854775807, BOUNDS",
        "0, -1, BOUNDS", // 2^64 - 1 as an unsigned length
        "-1, -1, BOUNDS",
        "-9223372036854775808, 1, BOUNDS",
        "0, -9223372036854775808, BOUNDS",
        "0, 0, OK",
        "4096, 0, OK",
        "4097, 0, BOUNDS",
        "-1, 0, BOUNDS"
    })
    void a02BoundsAreExact(long offset, long length, AccessVerdict expected) {
        MemoryRegion region = region(seeded(1));

        AccessVerdict verdict =
                RegionTable.check(
                        region, Access.REMOTE_WRITE, DOMAIN, region.address() + offset, length);

        assertThat(verdict).isEqualTo(expected);
    }

    @Seeded(cases = 50)
    @SuppressWarnings("restricted") // the memory of these addresses is never touched
    void coverAgreesWithBigIntegers(long seed) {
        Rng rng = new Rng(seed);
        MemorySegment segment =
                MemorySegment.ofAddress(rng.nextLong()).reinterpret(rng.nextLong() >>> 1);
        MemoryRegion region = new MemoryRegion(seeded(1), segment, 1, Access.ALL, DOMAIN);
        BigInteger start = unsigned(region.address());
        BigInteger end = start.add(BigInteger.valueOf(region.length()));
        if (end.bitLength() > 64 && !end.equals(BigInteger.ONE.shiftLeft(64))) {
            return; // no memory wraps around the end of the address space
        }
        for (int i = 0; i < 200; i++) {
            long va = near(rng, region.address(), region.address() + region.length());
            long length = near(rng, 0, region.length());
            BigInteger first = unsigned(va);
            boolean inside =
                    first.compareTo(start) >= 0 && first.add(unsigned(length)).compareTo(end) <= 0;

            assertThat(RegionTable.covers(region, va, length))
                    .as("region %s, va %x, length %d", region.descriptor(), va, length)
                    .isEqualTo(inside);
        }
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }

    private static long near(Rng rng, long a, long b) {
        return switch (rng.nextInt(4)) {
            case 0 -> a + rng.nextInt(5) - 2;
            case 1 -> b + rng.nextInt(5) - 2;
            case 2 -> a + (rng.nextLong() >>> rng.nextInt(64));
            default -> rng.nextLong();
        };
    }

    @Test
    void checkTellsWhatIsWrong() {
        RegionTable table = seeded(2);
        MemoryRegion readable = table.register(memory, Access.REMOTE_READ, DOMAIN);
        long va = readable.address();
        int read = Access.REMOTE_READ;

        assertThat(RegionTable.check(null, read, DOMAIN, va, 8))
                .isEqualTo(AccessVerdict.UNKNOWN_KEY);
        assertThat(RegionTable.check(readable, read, 2, va, 8)).isEqualTo(AccessVerdict.DOMAIN);
        assertThat(RegionTable.check(readable, Access.REMOTE_WRITE, DOMAIN, va, 8))
                .isEqualTo(AccessVerdict.RIGHTS);
        assertThat(RegionTable.check(readable, Access.REMOTE_ATOMIC | read, DOMAIN, va, 8))
                .as("all needed rights, not any of them")
                .isEqualTo(AccessVerdict.RIGHTS);
        assertThat(RegionTable.check(readable, read, DOMAIN, va, 8)).isEqualTo(AccessVerdict.OK);
        readable.close();
        assertThat(RegionTable.check(readable, read, DOMAIN, va, 8))
                .as("a reference kept over a close")
                .isEqualTo(AccessVerdict.UNKNOWN_KEY);
    }

    @Test
    void lookupFindsOpenRegionsOnly() {
        RegionTable table = seeded(3);
        MemoryRegion region = region(table);

        assertThat(table.lookup(region.rkey())).isSameAs(region);
        assertThat(table.lookup(region.rkey() ^ 1)).isNull();
        assertThat(table.lookup(0)).isNull();
        region.close();
        region.close();
        assertThat(table.lookup(region.rkey())).isNull();
        assertThat(region.isOpen()).isFalse();
        assertThat(table.live()).isZero();
    }

    @Test
    void registeredRegionTellsWhatPeersNeed() {
        MemoryRegion region = region(new RegionTable(() -> 0xC0FFEE));

        assertThat(region.descriptor())
                .isEqualTo(new RegionDescriptor(memory.address(), 0xC0FFEE, 4096));
        assertThat(region.access()).isEqualTo(Access.ALL);
        assertThat(region.domain()).isEqualTo(DOMAIN);
        assertThat(region.descriptor().toString()).endsWith("+4096 key 0xc0ffee");
    }

    @Test
    void regionOfLengthZeroCoversNothingButEmptyRanges() {
        RegionTable table = seeded(4);
        MemoryRegion empty = table.register(memory.asSlice(64, 0), Access.ALL, DOMAIN);

        assertThat(RegionTable.covers(empty, empty.address(), 0)).isTrue();
        assertThat(RegionTable.covers(empty, empty.address(), 1)).isFalse();
        assertThat(RegionTable.covers(empty, empty.address() + 1, 0)).isFalse();
    }

    @Test
    void memoryThatCannotBeServedIsRefusedWithAdvice() {
        RegionTable table = seeded(5);
        MemorySegment gone;
        try (Arena arena = Arena.ofConfined()) {
            gone = arena.allocate(64);
        }

        assertThatThrownBy(() -> table.register(MemorySegment.ofArray(new byte[64]), 1, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("heap")
                .hasMessageContaining("Arena.ofShared()");
        assertThatThrownBy(() -> table.register(gone, Access.REMOTE_READ, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("closed");
        for (int right : new int[] {1, 2, 8}) {
            assertThatThrownBy(() -> table.register(memory.asReadOnly(), right | 4, DOMAIN))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("read-only")
                    .hasMessageContaining(Access.describe(right | 4));
        }
        assertThatThrownBy(() -> table.register(memory, 16, DOMAIN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x10");
        assertThat(table.register(memory.asReadOnly(), Access.REMOTE_READ, DOMAIN).isOpen())
                .isTrue();
        assertThat(table.live()).isEqualTo(1);
    }

    /** MR-4.1-5, in the spirit of case X03. */
    @Test
    void x03KeysFollowTheRandomSourceAndNeverRepeatAmongTheLiving() {
        RegionTable table = seeded(6);
        List<MemoryRegion> regions = new ArrayList<>();
        Set<Integer> keys = new HashSet<>();
        for (int i = 0; i < 100_000; i++) {
            MemoryRegion region = region(table);
            regions.add(region);
            assertThat(keys.add(region.rkey())).as("key %d is new", i).isTrue();
        }
        Set<Integer> steps = new HashSet<>();
        for (int i = 1; i < 1_000; i++) {
            steps.add(regions.get(i).rkey() - regions.get(i - 1).rkey());
        }
        assertThat(steps).as("distances between neighbours").hasSizeGreaterThan(990);

        regions.forEach(MemoryRegion::close);
        Set<Integer> freed = new HashSet<>();
        regions.subList(100_000 - RetiredKeys.DISTANCE, 100_000).forEach(r -> freed.add(r.rkey()));
        for (int i = 0; i < 100_000; i++) {
            assertThat(freed.contains(region(table).rkey())).isFalse();
        }
        assertThat(table.live()).isEqualTo(100_000);
    }

    /** In the spirit of case X03: 10^6 guesses against one region. */
    @Test
    void x03GuessedKeysFindNothing() {
        RegionTable table = seeded(7);
        MemoryRegion region = region(table);
        Rng guess = new Rng(8);
        int hits = 0;
        for (int i = 0; i < 1_000_000; i++) {
            int key = guess.nextInt();
            if (key != region.rkey() && table.lookup(key) != null) {
                hits++;
            }
        }
        assertThat(hits).isZero();
    }

    /** The source offers 0, a living key and a freed one before a fresh one. */
    @Test
    void unusableDrawsAreSkipped() {
        ArrayDeque<Integer> draws = new ArrayDeque<>(List.of(5, 0, 5, 6, 5, 6, 7));
        RegionTable table = new RegionTable(draws::removeFirst);
        MemoryRegion first = region(table);
        assertThat(first.rkey()).isEqualTo(5);
        MemoryRegion second = region(table);
        assertThat(second.rkey()).isEqualTo(6);
        second.close();

        assertThat(region(table).rkey()).isEqualTo(7);
    }

    @Test
    void sourceThatRepeatsItselfIsReportedInsteadOfLoopingForEver() {
        RegionTable table = new RegionTable(() -> 5);
        region(table);

        assertThatThrownBy(() -> region(table))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not random");
    }

    /**
     * MR-4.1-5. One key is freed; it returns with the registration after 65,536 more were freed.
     */
    @Test
    void freedKeyMayReturnAfterExactlyTheDocumentedDistance() {
        int[] draws = {0};
        // Every second draw offers the old key 1, the others are fresh.
        IntSupplier source = () -> ++draws[0] % 2 == 1 ? 1 : draws[0] + 1;
        RegionTable table = new RegionTable(source);
        MemoryRegion old = region(table);
        assertThat(old.rkey()).isEqualTo(1);
        old.close();

        int registrations = 0;
        int key;
        do {
            MemoryRegion region = region(table);
            key = region.rkey();
            region.close();
            registrations++;
        } while (key != 1 && registrations < 2 * RetiredKeys.DISTANCE);

        assertThat(registrations).isEqualTo(RetiredKeys.DISTANCE + 1);
    }

    @Seeded(cases = 20)
    void retiredKeysAgreeWithAQueueAndASet(long seed) {
        Rng rng = new Rng(seed);
        RetiredKeys retired = new RetiredKeys();
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        Set<Integer> set = new HashSet<>();
        int range = 200_000 + rng.nextInt(1 << 20); // dense keys make long chains
        for (int i = 0; i < 150_000; i++) {
            int key = 1 + rng.nextInt(range);
            if (retired.contains(key) != set.contains(key)) {
                assertThat(retired.contains(key)).as("key %d", key).isEqualTo(set.contains(key));
            }
            if (set.add(key)) {
                retired.add(key);
                queue.add(key);
                if (queue.size() > RetiredKeys.DISTANCE) {
                    set.remove(queue.removeFirst());
                }
            }
        }
        assertThat(queue).hasSize(RetiredKeys.DISTANCE);
        assertThat(queue).allMatch(retired::contains);
    }

    @Seeded(cases = 20)
    void tableAgreesWithItsNaiveTwinOverManyChanges(long seed) {
        Rng rng = new Rng(seed);
        RegionTable table = new RegionTable(() -> rng.nextInt() & 0xFFFFF);
        List<MemoryRegion> open = new ArrayList<>();
        List<MemoryRegion> closed = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            if (open.isEmpty() || rng.chance(i % 1_000 < 500 ? 0.7 : 0.3)) {
                open.add(region(table));
            } else {
                MemoryRegion region = open.remove(rng.nextInt(open.size()));
                region.close();
                closed.add(region);
            }
            assertThat(table.live()).isEqualTo(open.size());
        }
        for (MemoryRegion region : open) {
            assertThat(table.lookup(region.rkey())).isSameAs(region);
        }
        for (MemoryRegion region : closed) {
            assertThat(table.lookup(region.rkey())).isNull();
        }
    }
}
