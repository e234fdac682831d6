package dev.metaroce.util;

import java.util.Arrays;

/**
 * Hands out numbers whose low bits are a small place and whose bits above change with each use of
 * the place, so that a number is not soon seen again; places that were given back rest for a while.
 * Any thread, under a lock: not for each packet.
 */
public final class NumberPool {
    /** Places that were given back and are not used while there are fresh ones. */
    private static final int RESTING = 256;

    private static final int FIRST_SIZE = 16;

    private final int bits;
    private final int firstPlace;
    private final int places;
    private final int placeBits;
    private final int firstUse;

    /** By place: the number that it has next. */
    private int[] next = {};

    private final IntRing free = new IntRing();
    private int used;
    private volatile int inUse;

    /**
     * @param bits of a number, 1..31
     * @param firstPlace places from 0 to here are not used
     * @param places that are used; with those before them fewer than there are numbers
     * @param firstUse a random number, for the bits above the place at the first use
     */
    public NumberPool(int bits, int firstPlace, int places, int firstUse) {
        this.bits = bits;
        this.firstPlace = firstPlace;
        this.places = places;
        // One place more than is ever used: a number of ones only is never handed out.
        placeBits = Integer.SIZE - Integer.numberOfLeadingZeros(firstPlace + places);
        Invariant.check(placeBits <= bits, "places fit numbers", placeBits, bits);
        this.firstUse = firstUse;
    }

    /** A number, or -1 when all places are in use. */
    public synchronized int take() {
        if (inUse == places) {
            return -1;
        }
        inUse++;
        return free.size() > (used < places ? RESTING : 0) ? next[free.poll()] : fresh();
    }

    private int fresh() {
        if (used == next.length) {
            next = Arrays.copyOf(next, Math.max(FIRST_SIZE, 2 * used));
        }
        int number = (firstUse << placeBits | firstPlace + used) & mask(bits);
        next[used++] = number;
        return number;
    }

    /** Gives a number back that was taken. */
    public synchronized void giveBack(int number) {
        int at = place(number) - firstPlace;
        next[at] = (number + (1 << placeBits)) & mask(bits);
        free.add(at);
        inUse--;
    }

    private static int mask(int bits) {
        return (1 << bits) - 1;
    }

    /** The place of a number, below {@code firstPlace + places} for each that was taken. */
    public int place(int number) {
        return number & mask(placeBits);
    }

    /** Numbers taken and not given back. */
    public int inUse() {
        return inUse;
    }
}
