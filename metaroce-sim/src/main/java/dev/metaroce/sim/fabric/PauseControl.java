package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.topology.Topology;

import java.util.List;
import java.util.Objects;

/** {@link Pfc} at work. Owned by the simulation's thread. */
final class PauseControl implements LosslessControl {
    private final EventQueue events;
    private final Topology topology;
    private final Pfc pfc;
    private final Port[] ports;
    private final List<TrafficClass> classes;

    // By port at whose far end packets come in, and class
    private final long[] usedBytes;
    private final long[] headroomUsedBytes;
    private final boolean[] stopped;

    /** By port. */
    private final long[] headroomBytes;

    PauseControl(EventQueue events, Topology topology, FabricConfig config, Pfc pfc, Port[] ports) {
        this.events = events;
        this.topology = topology;
        this.ports = ports;
        this.pfc = pfc;
        classes = config.classes();
        usedBytes = new long[ports.length * classes.size()];
        headroomUsedBytes = new long[usedBytes.length];
        stopped = new boolean[usedBytes.length];
        headroomBytes = new long[ports.length];
        int lossless = (int) classes.stream().filter(TrafficClass::lossless).count();
        for (Port in : ports) {
            if (topology.isHost(in.toNode)) {
                continue;
            }
            Port back = ports[in.id ^ 1];
            headroomBytes[in.id] = headroom(in, back, config.mtuBytes(), lossless);
            owner(in).bufferBytes -= lossless * (headroomBytes[in.id] + pfc.reserveBytes());
        }
        for (Port in : ports) {
            if (!topology.isHost(in.toNode)) {
                checkBuffer(in, lossless);
            }
        }
    }

    /** The switch that packets come to over a port. */
    private Switch owner(Port in) {
        return Objects.requireNonNull(ports[in.id ^ 1].owner);
    }

    private long headroom(Port in, Port back, int mtuBytes, int lossless) {
        long needed =
                Pfc.neededHeadroom(
                        in.rateBitsPerSecond,
                        back.rateBitsPerSecond,
                        in.delayPs,
                        mtuBytes,
                        lossless);
        if (pfc.headroomBytes() == 0) {
            return needed;
        }
        if (pfc.checked() && pfc.headroomBytes() < needed) {
            throw new ConfigException(
                    "PFC: headroom of %d bytes is too small for the link %s->%s: %d bytes needed"
                            .formatted(
                                    pfc.headroomBytes(),
                                    topology.name(back.toNode),
                                    topology.name(in.toNode),
                                    needed));
        }
        return pfc.headroomBytes();
    }

    private void checkBuffer(Port in, int lossless) {
        long left = owner(in).bufferBytes;
        if (left <= 0) {
            throw new ConfigException(
                    ("PFC: the buffer of switch %s lacks %d bytes for headroom and reserve of its"
                                    + " ports, %d each for the link from %s and its like")
                            .formatted(
                                    topology.name(in.toNode),
                                    1 - left,
                                    lossless * (headroomBytes[in.id] + pfc.reserveBytes()),
                                    topology.name(ports[in.id ^ 1].toNode)));
        }
    }

    private int index(Port in, int trafficClass) {
        return in.id * classes.size() + trafficClass;
    }

    private long sharedBytes(long used) {
        return Math.max(0, used - pfc.reserveBytes());
    }

    private long threshold(Switch at, int trafficClass) {
        long left = at.bufferBytes - at.usedBytes;
        return Math.min(left, (long) (classes.get(trafficClass).alpha() * left));
    }

    @Override
    public boolean admit(long nowPs, Port in, int trafficClass, int bytes) {
        Switch at = owner(in);
        int i = index(in, trafficClass);
        long threshold = threshold(at, trafficClass);
        long shared = sharedBytes(usedBytes[i] + bytes);
        long more = shared - sharedBytes(usedBytes[i]);
        boolean fits = true;
        if (shared == 0 || (shared <= threshold && more <= at.bufferBytes - at.usedBytes)) {
            usedBytes[i] += bytes;
            at.take(more);
        } else if (headroomUsedBytes[i] + bytes <= headroomBytes[in.id]) {
            headroomUsedBytes[i] += bytes;
        } else {
            fits = false;
        }
        boolean full = headroomUsedBytes[i] > 0 || (shared > 0 && shared >= threshold);
        if (full && !stopped[i] && usedBytes[i] + headroomUsedBytes[i] > 0) {
            // Something is here whose leaving will let the sender go on.
            stopped[i] = true;
            sendFrame(nowPs, in, trafficClass);
        }
        return fits;
    }

    @Override
    public void release(long nowPs, Port in, int trafficClass, int bytes) {
        Switch at = owner(in);
        int i = index(in, trafficClass);
        long fromHeadroom = Math.min(headroomUsedBytes[i], bytes);
        headroomUsedBytes[i] -= fromHeadroom;
        long before = sharedBytes(usedBytes[i]);
        usedBytes[i] -= bytes - fromHeadroom;
        long shared = sharedBytes(usedBytes[i]);
        at.usedBytes -= before - shared;
        if (stopped[i] && headroomUsedBytes[i] == 0) {
            if (shared == 0 || shared + pfc.resumeBytes() <= threshold(at, trafficClass)) {
                stopped[i] = false;
                sendFrame(nowPs, in, trafficClass);
            }
        }
    }

    /** Tells the sender how it stands, ahead of what waits on the way back. */
    private void sendFrame(long nowPs, Port in, int trafficClass) {
        Port back = ports[in.id ^ 1];
        if (back.down) {
            return;
        }
        back.freeAtPs = Math.max(nowPs, back.freeAtPs) + back.serializationPs(Pfc.FRAME_BYTES);
        int stop = stopped[index(in, trafficClass)] ? 1 : 0;
        events.add(
                back.freeAtPs + back.delayPs,
                Events.of(Events.FLOW_CONTROL, back.id, trafficClass << 1 | stop));
    }

    @Override
    public boolean onFrame(long nowPs, Port by, int content) {
        int trafficClass = content >> 1;
        boolean stop = (content & 1) != 0;
        Port sender = ports[by.id ^ 1];
        Scheduler scheduler = Objects.requireNonNull(sender.scheduler);
        scheduler.pause(nowPs, trafficClass, stop);
        if (stop && sender.owner != null && pfc.stuckAfterPs() > 0) {
            events.add(
                    nowPs + pfc.stuckAfterPs(), Events.of(Events.STUCK, sender.id, trafficClass));
        }
        return !stop;
    }

    @Override
    public void onTurnedAway(long nowPs, Port in, int trafficClass, int bytes) {}

    @Override
    public void onSent(long nowPs, Port by, int trafficClass, int bytes) {}

    @Override
    public void onLinkUp(long nowPs, Port in) {
        for (int c = 0; c < classes.size(); c++) {
            stopped[index(in, c)] = false;
        }
    }
}
