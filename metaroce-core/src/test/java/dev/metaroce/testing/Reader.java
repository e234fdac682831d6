package dev.metaroce.testing;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/** Posts READs and atomics from the client of a {@link Pair} to the server's region. */
public final class Reader {
    private final Pair pair;

    /** Where replies go. */
    public final MemoryRegion local;

    public Reader(Pair pair, long bytes) {
        this.pair = pair;
        local =
                pair.clientEnd.domain.register(
                        Arena.ofAuto().allocate(Math.max(1, bytes), 64), Access.LOCAL_WRITE);
    }

    /** Reads the server's bytes to the same place of the local region. */
    public void read(int stream, long wrId, long offset, long length) {
        readFrom(stream, wrId, offset, length, pair.serverEnd.region.address() + offset);
    }

    public void readFrom(int stream, long wrId, long offset, long length, long va) {
        int key = pair.serverEnd.region.rkey();
        Pair.must(
                wrId,
                pair.clientEnd.pairs.get(stream).postRead(wrId, local, offset, length, va, key));
    }

    /** Adds to the word at {@code at} of the server's region; the old value goes to {@code to}. */
    public void add(int stream, long wrId, long to, long at, long value) {
        long va = pair.serverEnd.region.address() + at;
        int key = pair.serverEnd.region.rkey();
        Pair.must(
                wrId,
                pair.clientEnd.pairs.get(stream).postFetchAndAdd(wrId, local, to, va, key, value));
    }

    public void swap(int stream, long wrId, long to, long at, long compare, long value) {
        long va = pair.serverEnd.region.address() + at;
        int key = pair.serverEnd.region.rkey();
        Pair.must(
                wrId,
                pair.clientEnd
                        .pairs
                        .get(stream)
                        .postCompareAndSwap(wrId, local, to, va, key, compare, value));
    }

    /** A word that came. */
    public long word(long at) {
        return local.segment().get(ValueLayout.JAVA_LONG, at);
    }

    /** A word of the server. */
    public long remoteWord(long at) {
        return pair.serverEnd.region.segment().get(ValueLayout.JAVA_LONG, at);
    }

    /** Sets a word of the server. */
    public void remoteWord(long at, long value) {
        pair.serverEnd.region.segment().set(ValueLayout.JAVA_LONG, at, value);
    }

    /** Runs until the client has one more completion, and returns it. */
    public WorkCompletion next() {
        pair.clientEnd.poll();
        int before = pair.clientEnd.sends.size();
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.size() > before;
                },
                60_000_000_000L);
        return pair.clientEnd.sends.get(before);
    }

    /** The outcome of the only request on the way. */
    public WcStatus outcome() {
        return next().status();
    }

    /** First place from 0 to {@code bytes} where local and remote bytes differ, or -1. */
    public long mismatch(long bytes) {
        return local.segment()
                .asSlice(0, bytes)
                .mismatch(pair.serverEnd.region.segment().asSlice(0, bytes));
    }
}
