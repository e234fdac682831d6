package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads size distributions as people write them. */
public final class Sizes {
    private static final Pattern UNIFORM = Pattern.compile("uniform:([^:-]+)-([^:-]+)");
    private static final Pattern PARETO =
            Pattern.compile("pareto:([^:-]+)-([^:-]+):([0-9]{1,3}(?:\\.[0-9]{1,9})?)");

    private Sizes() {}

    /**
     * {@code 64k}, {@code uniform:1k-1M}, or {@code pareto:1k-10M:1.2} (smallest, largest, shape).
     *
     * @throws ConfigException when it is none of these
     */
    public static SizeDistribution parse(String text) {
        Matcher uniform = UNIFORM.matcher(text);
        if (uniform.matches()) {
            return new SizeDistribution.Uniform(
                    Quantities.bytes(uniform.group(1)), Quantities.bytes(uniform.group(2)));
        }
        Matcher pareto = PARETO.matcher(text);
        if (pareto.matches()) {
            return new SizeDistribution.Pareto(
                    Quantities.bytes(pareto.group(1)),
                    Quantities.bytes(pareto.group(2)),
                    Double.parseDouble(pareto.group(3)));
        }
        if (text.contains(":")) {
            throw new ConfigException(
                    "size '%s': write 64k, uniform:1k-1M or pareto:1k-10M:1.2".formatted(text));
        }
        return new SizeDistribution.Fixed(Quantities.bytes(text));
    }

    /**
     * A file as the field uses it: lines of {@code bytes share}, both rising, the share up to 1 or
     * to 100; {@code #} begins a comment.
     *
     * @param file its name in messages
     * @throws ConfigException with file, line and reason
     */
    public static SizeDistribution parseCdf(String file, String text) {
        List<SizeDistribution.Cdf.Point> points = new ArrayList<>();
        TextLines lines = new TextLines(file, text);
        while (lines.next()) {
            String[] words = lines.words();
            if (words.length != 2) {
                throw lines.error("'%s' is not: bytes share".formatted(lines.line()));
            }
            SizeDistribution.Cdf.Point point =
                    new SizeDistribution.Cdf.Point(
                            lines.whole("bytes", words[0], 0, Quantities.BYTES_MAX),
                            share(lines, words[1]));
            SizeDistribution.Cdf.Point last =
                    points.isEmpty() ? new SizeDistribution.Cdf.Point(0, 0) : points.getLast();
            if (point.bytes() < last.bytes() || point.share() < last.share()) {
                throw lines.error("'%s' is less than the line before".formatted(lines.line()));
            }
            points.add(point);
        }
        double total = points.isEmpty() ? 0 : points.getLast().share();
        if (total != 1 && total != 100) {
            throw lines.error("the last share is %s: it should be 1 or 100".formatted(total));
        }
        points.replaceAll(p -> new SizeDistribution.Cdf.Point(p.bytes(), p.share() / total));
        return new SizeDistribution.Cdf(List.copyOf(points));
    }

    private static double share(TextLines lines, String word) {
        if (word.matches("[0-9]{1,3}(\\.[0-9]{1,18})?")) {
            double share = Double.parseDouble(word);
            if (share <= 100) {
                return share;
            }
        }
        throw lines.error("share '%s' is no number in 0..100".formatted(word));
    }
}
