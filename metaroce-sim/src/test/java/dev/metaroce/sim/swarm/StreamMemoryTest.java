package dev.metaroce.sim.swarm;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.RdmaDevice;

import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The model of target memory objects to every byte that is not as it should be. */
class StreamMemoryTest {
    private static final String NAME = "stream";

    private final StreamMemory memory = memory();

    private static StreamMemory memory() {
        Rng keys = new Rng(1);
        Engine engine =
                new Engine(
                        DeviceLimits.defaults(),
                        new EndpointIdentity(1, 1),
                        new Rng(2),
                        keys::nextInt,
                        EventSink.NONE);
        ProtectionDomain domain =
                new RdmaDevice(engine, new ManualDriver()).allocProtectionDomain();
        return new StreamMemory(Arena.ofAuto(), 3, 2, 100, domain, domain);
    }

    /** Does what the engine would do. */
    private void place(int message, int bytes) {
        long at = memory.offset(message);
        MemorySegment.copy(memory.source.segment(), at, memory.target.segment(), at, bytes);
    }

    private void touch(long at) {
        byte before = memory.target.segment().get(ValueLayout.JAVA_BYTE, at);
        memory.target.segment().set(ValueLayout.JAVA_BYTE, at, (byte) (before ^ 1));
    }

    @Test
    void whatWasPlacedIsRight() {
        memory.write(NAME, 0, 0, 100);
        place(0, 100);

        memory.arrived(NAME, 0, 0, 100);
        memory.check(NAME);
    }

    @Test
    void aMessageThatIsNotThereIsMissed() {
        memory.write(NAME, 0, 0, 100);
        place(0, 99);

        assertThatThrownBy(() -> memory.arrived(NAME, 0, 0, 100))
                .hasMessage("stream: byte 99 of 100 of message 0 is not what was sent");
    }

    @Test
    void aByteBetweenSlotsMayNotChange() {
        touch(memory.offset(1) - 1);

        assertThatThrownBy(() -> memory.check(NAME)).hasMessageContaining("nobody should write");
    }

    @Test
    void aByteBehindAShortMessageMayNotChange() {
        memory.write(NAME, 0, 0, 10);
        place(0, 10);
        memory.arrived(NAME, 0, 0, 10);
        touch(memory.offset(0) + 10);

        assertThatThrownBy(() -> memory.check(NAME)).hasMessageContaining("nobody should write");
    }

    @Test
    void aLateCopyIntoAFinishedSlotIsNoticedWhenTheSlotIsUsedAgain() {
        memory.write(NAME, 0, 0, 50);
        place(0, 50);
        memory.arrived(NAME, 0, 0, 50);
        touch(memory.offset(0) + 20);

        assertThatThrownBy(() -> memory.write(NAME, 2, 2, 50))
                .hasMessageContaining("changed after its message had arrived");
    }

    @Test
    void aSlotWhoseFateIsOpenHoldsOldOrNewBytesAndNoOthers() {
        memory.write(NAME, 0, 0, 100);
        place(0, 40);
        assertThatCode(() -> memory.check(NAME)).doesNotThrowAnyException();

        memory.write(NAME, 1, 1, 100);
        place(1, 40);
        touch(memory.offset(1) + 60);

        assertThatThrownBy(() -> memory.check(NAME)).hasMessageContaining("neither old nor new");
    }

    @Test
    void twoMessagesNeverHoldTheSameBytes() {
        memory.write(NAME, 0, 0, 100);
        place(0, 100);
        memory.arrived(NAME, 0, 0, 100);
        memory.write(NAME, 2, 2, 100);

        assertThatThrownBy(() -> memory.arrived(NAME, 2, 2, 100))
                .hasMessageContaining("byte 0 of 100 of message 2");
    }

    @Test
    void memoryOfADeadProcessIsNobodysBusiness() {
        touch(0);
        memory.abandon();

        assertThatCode(() -> memory.check(NAME)).doesNotThrowAnyException();
    }
}
