package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** What a kernel, driver or sandbox may refuse, by a stub that returns the error numbers. */
class LinuxPortRefusalTest {
    private static final int EPERM = 1;
    private static final int ECONNREFUSED = 111;
    private static final int ENETUNREACH = 101;

    private final StubLibc libc = new StubLibc();
    private final RecordingSink sink = new RecordingSink();
    private final TxBatch batch = new TxBatch(256 << 10, 64, 64);
    private final List<Port> ports = new ArrayList<>();

    private Port open(Libc with) {
        InetSocketAddress loopback = new InetSocketAddress("127.0.0.1", 0);
        Port port = LinuxPort.open(TestPorts.options(loopback, 1, Port.WANTED_BUFFER_BYTES), with);
        ports.add(port);
        return port;
    }

    @AfterEach
    void closePorts() {
        ports.forEach(Port::close);
    }

    private void append(Port to, int packets, int firstNumber) {
        NetAddress address = Addresses.toNetAddress(to.localAddresses().getFirst());
        for (int i = 0; i < packets; i++) {
            int at = batch.append(address, 1, true, 1000);
            batch.memory().put32(at, firstNumber + i);
        }
    }

    private void expectNumbers(Port at, int count) {
        assertThat(Until.holds(() -> at.receive(sink, 64) >= 0 && sink.datagrams.size() >= count))
                .isTrue();
        assertThat(sink.numbers())
                .containsExactlyElementsOf(IntStream.range(0, count).boxed().toList());
    }

    @ParameterizedTest
    @ValueSource(ints = {Libc.EIO, Libc.EINVAL, Libc.EMSGSIZE, Libc.ENOPROTOOPT, Libc.EOPNOTSUPP})
    void refusedSegmentationLosesNothingAndKeepsEcn_E02(int errno) {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseSegments(errno);
        append(b, 20, 0);

        assertThat(a.send(batch)).isEqualTo(20);

        expectNumbers(b, 20);
        assertThat(libc.segmentAttempts).isEqualTo(1);
        assertThat(libc.sentMessages).isEqualTo(20);
        assertThat(libc.markedMessages).isEqualTo(20);
        assertThat(a.stats().txDatagrams()).isEqualTo(20);
        assertThat(a.stats().txErrors()).isZero();
        assertThat(a.warnings())
                .containsExactly(
                        "UDP segmentation offload refused towards "
                                + Addresses.toNetAddress(b.localAddresses().getFirst())
                                + " ("
                                + libc.text(errno)
                                + "): off for there");
    }

    /** Packets of 3000 bytes of header, lent payload and trailer, with a short whole one behind. */
    private TxBatch gathering(Port to, MemorySegment payload, int packets) {
        TxBatch gathering = new TxBatch(new PacketMemory(256 << 10), 64, 64, true);
        NetAddress address = Addresses.toNetAddress(to.localAddresses().getFirst());
        gathering.clear();
        for (int i = 0; i < packets; i++) {
            int at = gathering.append(address, 1, true, 3000);
            gathering.memory().put32(at, i);
            gathering.memory().put32(at + 2996, -i);
            gathering.lend(48, payload.address() + i, 2948);
        }
        int at = gathering.append(address, 1, true, 100);
        gathering.memory().put32(at, packets);
        return gathering;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Libc.EIO})
    void payloadIsGatheredFromWhereItIs(int segmentErrno) {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseSegments(segmentErrno);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment payload = arena.allocate(4096);
            for (int i = 0; i < 4096; i++) {
                payload.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31));
            }
            assertThat(a.gathers()).isTrue();
            assertThat(a.send(gathering(b, payload, 30))).isEqualTo(31);
            expectNumbers(b, 31);
        }
        for (int i = 0; i < 30; i++) {
            ByteBuffer datagram = ByteBuffer.wrap(sink.datagrams.get(i));
            assertThat(datagram.capacity()).isEqualTo(3000);
            assertThat(datagram.getInt(2996)).isEqualTo(-i);
            for (int k = 0; k < 2948; k += 7) {
                assertThat(datagram.get(48 + k)).isEqualTo((byte) ((i + k) * 31));
            }
        }
        assertThat(sink.datagrams.getLast()).hasSize(100);
    }

    @Test
    void aRefusalHoldsForItsDestinationOnly_E02() {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        Port other = open(new NativeLibc());
        libc.refuseSegments(Libc.EIO);
        append(b, 10, 0);
        a.send(batch);
        libc.refuseSegments(0);
        int attempts = libc.segmentAttempts;

        batch.clear();
        append(b, 10, 10);
        a.send(batch);
        assertThat(libc.segmentAttempts).isEqualTo(attempts);
        expectNumbers(b, 20);

        batch.clear();
        append(other, 10, 0);
        a.send(batch);
        assertThat(libc.segmentAttempts).isEqualTo(attempts + 1);
        assertThat(a.info().gso()).isTrue();
        assertThat(a.warnings()).hasSize(1);
    }

    @Test
    void messagesBeforeTheRefusedOneAreSentOnce_E02() {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseSegments(Libc.EINVAL);
        append(b, 1, 0);
        int at = batch.append(Addresses.toNetAddress(b.localAddresses().getFirst()), 1, true, 2000);
        batch.memory().put32(at, 1);
        append(b, 3, 2);
        assertThat(batch.runs()).isEqualTo(3);

        assertThat(a.send(batch)).isEqualTo(5);

        expectNumbers(b, 5);
    }

    @ParameterizedTest
    @ValueSource(ints = {Libc.EINVAL, Libc.ENOPROTOOPT})
    void refusedMarkingIsDoneWithout(int errno) {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseMarks(errno);
        append(b, 10, 0);

        assertThat(a.send(batch)).isEqualTo(10);
        batch.clear();
        append(b, 10, 10);
        assertThat(a.send(batch)).isEqualTo(10);

        expectNumbers(b, 20);
        assertThat(libc.markedMessages).isZero();
        assertThat(a.warnings()).anyMatch(line -> line.contains("ECN-capable marking refused"));
    }

    @ParameterizedTest
    @ValueSource(
            ints = {EPERM, Libc.EACCES, Libc.EIO, Libc.EINVAL, Libc.ENOPROTOOPT, Libc.EOPNOTSUPP})
    void aKernelWithoutAnyOfTheOptionsStillCarriesPackets(int errno) {
        libc.refuseOption(Libc.UDP_SEGMENT, errno)
                .refuseOption(Libc.UDP_GRO, errno)
                .refuseOption(Libc.IP_RECVTOS, errno)
                .refuseOption(Libc.IP_MTU_DISCOVER, errno);
        Port a = open(libc);
        append(a, 10, 0);

        assertThat(a.send(batch)).isEqualTo(10);

        expectNumbers(a, 10);
        assertThat(libc.segmentAttempts).isZero();
        assertThat(libc.markedMessages).isZero();
        assertThat(a.info().text()).isEqualTo("Linux, GSO off, GRO off, ECN off");
        assertThat(a.warnings())
                .containsExactly(
                        "this kernel refuses UDP_SEGMENT: done without it",
                        "this kernel refuses UDP_GRO: done without it",
                        "this kernel refuses IP_RECVTOS: done without it",
                        "this system cannot forbid IP fragments: a loss costs more than one"
                                + " packet");
    }

    @ParameterizedTest
    @ValueSource(ints = {EPERM, ENETUNREACH})
    void otherErrorsAreCountedAndNotTriedAgain(int errno) {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseSending(errno);
        append(b, 10, 0);

        assertThat(a.send(batch)).isZero();

        assertThat(a.stats().txErrors()).isEqualTo(10);
        assertThat(a.stats().lastError()).contains("send to").contains(libc.text(errno));
        assertThat(a.warnings()).isEmpty();
    }

    @Test
    void aBufferThatStaysFullCostsPacketsButNoTime() {
        Port a = open(libc);
        Port b = open(new NativeLibc());
        libc.refuseSending(Libc.EAGAIN);
        append(b, 10, 0);

        assertThat(a.send(batch)).isZero();

        assertThat(a.stats().txDropped()).isEqualTo(10);
        assertThat(a.stats().txFull()).isPositive();
        assertThat(a.stats().txErrors()).isZero();
    }

    @Test
    void errorsOnReceivingConcernOnePeerAndNotTheLoop() {
        Port b = open(libc);
        Port a = open(new NativeLibc());
        append(b, 5, 0);
        a.send(batch);
        libc.failReceiving(3, ECONNREFUSED);

        expectNumbers(b, 5);

        assertThat(b.stats().rxErrors()).isEqualTo(3);
        assertThat(b.stats().lastError()).contains(libc.text(ECONNREFUSED));
    }

    @Test
    void aSocketThatOnlyFailsDoesNotHoldTheThread() {
        Port b = open(libc);
        libc.failReceiving(Integer.MAX_VALUE, ECONNREFUSED);

        assertThat(b.receive(sink, 64)).isZero();

        assertThat(b.stats().rxErrors()).isBetween(1L, 100L);
    }

    @Test
    void datagramsWithoutTheirSegmentSizeAreDroppedAndCounted_E07() {
        Port b = open(libc.truncateControl());
        Port a = open(new NativeLibc());
        append(b, 5, 0);
        a.send(batch);

        assertThat(Until.holds(() -> b.receive(sink, 64) == 0 && b.stats().rxErrors() > 0))
                .isTrue();

        assertThat(sink.datagrams).isEmpty();
        assertThat(b.stats().lastError()).contains("did not fit");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 32})
    void mergedDatagramsArriveSeparateAndWhole_E07(int messagesPerCall) {
        Port a = open(libc);
        LinuxSockets b =
                LinuxSockets.open(
                        TestPorts.options(new InetSocketAddress("127.0.0.1", 0), 0, 4 << 20), libc);
        PortCounters counters = new PortCounters();
        LinuxReceiver receiver = new LinuxReceiver(libc, counters, false, true, messagesPerCall);
        NetAddress to = Addresses.toNetAddress(b.localAddresses.getFirst());
        int sent = 0;
        while (sent < 10_000) {
            batch.clear();
            for (int i = 0; i < 100; i++) {
                batch.memory().put32(batch.append(to, 1, false, 700), sent++);
            }
            a.send(batch);
            int expected = sent;
            assertThat(
                            Until.holds(
                                    () ->
                                            receiver.drain(b.fds[0], 0, sink, 64) >= 0
                                                    && sink.datagrams.size() == expected))
                    .isTrue();
        }
        batch.clear();
        batch.memory().put32(batch.append(to, 1, false, 700), 10_000);
        batch.memory().put32(batch.append(to, 1, false, 333), 10_001);
        a.send(batch);
        assertThat(
                        Until.holds(
                                () ->
                                        receiver.drain(b.fds[0], 0, sink, 64) >= 0
                                                && sink.datagrams.size() == 10_002))
                .isTrue();

        assertThat(sink.numbers())
                .containsExactlyElementsOf(IntStream.range(0, 10_002).boxed().toList());
        assertThat(sink.datagrams.subList(0, 10_001)).allMatch(d -> d.length == 700);
        assertThat(sink.datagrams.getLast()).hasSize(333);
        assertThat(counters.snapshot().rxCalls()).isLessThan(5_000);
        libc.close(b.fds[0]);
        libc.close(b.wakeFd);
    }
}
