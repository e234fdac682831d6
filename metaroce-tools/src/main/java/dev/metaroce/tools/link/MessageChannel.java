package dev.metaroce.tools.link;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * Small JSON messages as SENDs on one stream of a connection: how the two ends of a test agree and
 * report. One thread uses it. Made before the first packet of the connection, so it always finds a
 * posted receive: its users ask and answer in turns, and never have more than {@link #DEPTH}
 * messages of one direction under way.
 */
public final class MessageChannel implements AutoCloseable {
    /** Longest message in bytes. */
    public static final int MESSAGE_BYTES = 8 << 10;

    /** Messages of one direction that may be under way. */
    public static final int DEPTH = 4;

    private final Connection connection;
    private final QueuePair pair;
    private final CompletionQueue sent;
    private final CompletionQueue received;
    private final MemoryRegion region;
    private final WorkCompletion completion = new WorkCompletion();
    private int nextSlot;
    private int unfinished;

    public MessageChannel(
            RdmaDevice device, Connection connection, ProtectionDomain domain, Arena arena) {
        this.connection = connection;
        sent = device.createCompletionQueue(DEPTH);
        received = device.createCompletionQueue(DEPTH);
        pair = connection.createQueuePair(domain, sent, received, DEPTH, DEPTH);
        MemorySegment memory = arena.allocate(2L * DEPTH * MESSAGE_BYTES, 64);
        region = domain.register(memory, Access.LOCAL_WRITE);
        for (int slot = 0; slot < DEPTH; slot++) {
            postReceive(slot);
        }
    }

    private void postReceive(int slot) {
        long offset = (long) (DEPTH + slot) * MESSAGE_BYTES;
        if (pair.postReceive(slot, region, offset, MESSAGE_BYTES) != PostResult.OK) {
            throw new IllegalStateException("receive queue full with " + DEPTH + " slots");
        }
    }

    /** Sends a record as JSON. */
    public void send(Object record) {
        byte[] bytes = Json.COMPACT.writeValueAsBytes(record);
        if (bytes.length > MESSAGE_BYTES) {
            throw new IllegalStateException("message of " + bytes.length + " bytes");
        }
        reap();
        long offset = (long) nextSlot * MESSAGE_BYTES;
        MemorySegment.copy(bytes, 0, region.segment(), ValueLayout.JAVA_BYTE, offset, bytes.length);
        if (pair.postSend(nextSlot, region, offset, bytes.length) != PostResult.OK) {
            throw new IllegalStateException("more than " + DEPTH + " messages under way");
        }
        nextSlot = (nextSlot + 1) % DEPTH;
        unfinished++;
    }

    /** The oldest message that arrived, or null; also notices failed sends. */
    public <T> @Nullable T poll(Class<T> type) {
        reap();
        if (!received.poll(completion) || isFlushedByTheEnd()) {
            return null;
        }
        check("receive");
        int slot = (int) completion.wrId();
        byte[] bytes = new byte[(int) completion.byteLength()];
        long offset = (long) (DEPTH + slot) * MESSAGE_BYTES;
        MemorySegment.copy(region.segment(), ValueLayout.JAVA_BYTE, offset, bytes, 0, bytes.length);
        postReceive(slot);
        try {
            return Json.COMPACT.readValue(bytes, type);
        } catch (tools.jackson.core.JacksonException e) {
            String text = new String(bytes, StandardCharsets.UTF_8);
            throw ToolException.failed(
                    "the peer " + connection.peer() + " sent something unknown: " + text);
        }
    }

    /** True when every message sent so far arrived at the peer. */
    public boolean isFlushed() {
        reap();
        return unfinished == 0;
    }

    private void reap() {
        while (sent.poll(completion)) {
            unfinished--;
            if (!isFlushedByTheEnd()) {
                check("message");
            }
        }
    }

    /** Work that comes back because the connection ended in order is no failure. */
    private boolean isFlushedByTheEnd() {
        return completion.status() == WcStatus.WR_FLUSH_ERROR
                && connection.state() == ConnectionState.CLOSED;
    }

    private void check(String what) {
        if (completion.status() != WcStatus.SUCCESS) {
            throw LinkFailure.of(connection, what, completion);
        }
    }

    /** Takes the memory back from the device. */
    @Override
    public void close() {
        region.close();
    }
}
