package dev.metaroce.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.EventSink;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicInteger;

class EngineTransmitTest {
    private final Engine engine =
            new Engine(
                    DeviceLimits.defaults(),
                    new EndpointIdentity(1, 1),
                    new Rng(1),
                    new Rng(2)::nextInt,
                    EventSink.NONE);
    private final TxBatch batch = new TxBatch(new PacketMemory(1 << 16), 64, 64, true);

    @Test
    void noRegionClosesWhileAPortSends() {
        AtomicInteger sent = new AtomicInteger();
        engine.dial(NetAddress.ofIpv4(1, 1), 7, new byte[0], 0);
        engine.drainPosted(0);

        int packets =
                engine.transmit(
                        0,
                        batch,
                        full -> {
                            assertThat(engine.regions().gate().isInTurnOfCaller()).isTrue();
                            sent.set(full.packets());
                        });

        assertThat(packets).isPositive().isEqualTo(sent.get());
        assertThat(engine.regions().gate().isInTurnOfCaller()).isFalse();
    }

    @Test
    void aPortIsLeftAloneWhenThereIsNothingToSend() {
        int packets =
                engine.transmit(
                        0,
                        batch,
                        full -> {
                            throw new AssertionError("sent " + full.packets());
                        });

        assertThat(packets).isZero();
    }
}
