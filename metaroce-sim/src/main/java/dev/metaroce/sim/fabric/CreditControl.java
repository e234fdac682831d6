package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.topology.Topology;

import java.util.Arrays;
import java.util.Objects;

/** {@link Credits} at work. Owned by the simulation's thread. */
final class CreditControl implements LosslessControl {
    private static final int BYTES_BITS = 20;

    private final EventQueue events;
    private final Topology topology;
    private final Credits credits;
    private final Port[] ports;
    private final int classCount;
    private final int mtuBytes;

    /** By port. */
    private final long[] bufferBytes;

    // By port at whose far end is the buffer, and class
    private final long[] usedBytes;
    private final long[] creditBytes;

    CreditControl(
            EventQueue events,
            Topology topology,
            FabricConfig config,
            Credits credits,
            Port[] ports) {
        this.events = events;
        this.topology = topology;
        this.credits = credits;
        this.ports = ports;
        classCount = config.classes().size();
        mtuBytes = config.mtuBytes();
        bufferBytes = new long[ports.length];
        usedBytes = new long[ports.length * classCount];
        creditBytes = new long[usedBytes.length];
        int lossless = (int) config.classes().stream().filter(TrafficClass::lossless).count();
        for (Port in : ports) {
            if (!topology.isHost(in.toNode)) {
                bufferBytes[in.id] = buffer(in, lossless);
                takeBuffer(in, lossless * bufferBytes[in.id]);
                int first = in.id * classCount;
                Arrays.fill(creditBytes, first, first + classCount, bufferBytes[in.id]);
            }
        }
    }

    private long buffer(Port in, int lossless) {
        if (credits.bufferBytes() == 0) {
            long rateBack = ports[in.id ^ 1].rateBitsPerSecond;
            return Pfc.neededHeadroom(
                    in.rateBitsPerSecond, rateBack, in.delayPs, mtuBytes, lossless);
        }
        if (credits.bufferBytes() < mtuBytes) {
            throw new ConfigException(
                    "credits: a buffer of %d bytes does not hold a packet of %d bytes"
                            .formatted(credits.bufferBytes(), mtuBytes));
        }
        return credits.bufferBytes();
    }

    private void takeBuffer(Port in, long bytes) {
        Switch owner = Objects.requireNonNull(ports[in.id ^ 1].owner);
        owner.bufferBytes -= bytes;
        if (owner.bufferBytes < 0) {
            throw new ConfigException(
                    "credits: the buffer of switch %s is too small for %d bytes for each link"
                            .formatted(topology.name(in.toNode), bytes));
        }
    }

    @Override
    public boolean admit(long nowPs, Port in, int trafficClass, int bytes) {
        int i = in.id * classCount + trafficClass;
        if (usedBytes[i] + bytes > bufferBytes[in.id]) {
            return false;
        }
        usedBytes[i] += bytes;
        return true;
    }

    @Override
    public void release(long nowPs, Port in, int trafficClass, int bytes) {
        usedBytes[in.id * classCount + trafficClass] -= bytes;
        giveBack(nowPs, in, trafficClass, bytes);
    }

    /**
     * InfiniBand tells the sum of what was sent on a link from time to time, and so finds what is
     * missing; here the credit comes back as if the packet had gone on at once.
     */
    @Override
    public void onTurnedAway(long nowPs, Port in, int trafficClass, int bytes) {
        if (!topology.isHost(in.toNode)) {
            giveBack(nowPs, in, trafficClass, bytes);
        }
    }

    private void giveBack(long nowPs, Port in, int trafficClass, int bytes) {
        Port back = ports[in.id ^ 1];
        if (!back.down) {
            events.add(
                    nowPs + back.delayPs,
                    Events.of(Events.FLOW_CONTROL, back.id, trafficClass << BYTES_BITS | bytes));
        }
    }

    @Override
    public void onSent(long nowPs, Port by, int trafficClass, int bytes) {
        if (topology.isHost(by.toNode)) {
            return;
        }
        creditBytes[by.id * classCount + trafficClass] -= bytes;
        obey(nowPs, by, trafficClass);
    }

    @Override
    public boolean onFrame(long nowPs, Port by, int content) {
        Port sender = ports[by.id ^ 1];
        int trafficClass = content >>> BYTES_BITS;
        creditBytes[sender.id * classCount + trafficClass] += content & (1 << BYTES_BITS) - 1;
        return obey(nowPs, sender, trafficClass);
    }

    /** Stops a class that has no credit for a packet of any size; true when it may send. */
    private boolean obey(long nowPs, Port sender, int trafficClass) {
        boolean stop = creditBytes[sender.id * classCount + trafficClass] < mtuBytes;
        Objects.requireNonNull(sender.scheduler).pause(nowPs, trafficClass, stop);
        if (stop && sender.owner != null && credits.stuckAfterPs() > 0) {
            long atPs = nowPs + credits.stuckAfterPs();
            events.add(atPs, Events.of(Events.STUCK, sender.id, trafficClass));
        }
        return !stop;
    }

    @Override
    public void onLinkUp(long nowPs, Port in) {
        if (topology.isHost(in.toNode)) {
            return;
        }
        for (int c = 0; c < classCount; c++) {
            int i = in.id * classCount + c;
            creditBytes[i] = bufferBytes[in.id] - usedBytes[i];
            obey(nowPs, in, c);
        }
    }
}
