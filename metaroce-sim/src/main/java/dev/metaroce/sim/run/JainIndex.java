package dev.metaroce.sim.run;

/** Jain's fairness index: 1 when all values are equal, 1/n when all but one of n are 0. */
public final class JainIndex {
    private int count;
    private double sum;
    private double squares;

    public JainIndex() {}

    /** Of these values. */
    public static double of(double[] values) {
        JainIndex index = new JainIndex();
        for (double value : values) {
            index.add(value);
        }
        return index.value();
    }

    public void add(double value) {
        count++;
        sum += value;
        squares += value * value;
    }

    /** NaN when there is no value but 0. */
    public double value() {
        return sum * sum / (count * squares);
    }
}
