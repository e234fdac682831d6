package dev.metaroce.tools.chart;

import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYErrorRenderer;
import org.jfree.data.xy.YIntervalSeries;
import org.jfree.data.xy.YIntervalSeriesCollection;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Locale;

/** Lines over numbers, with a bar from the least to the greatest where a point has these. */
public final class LineChart implements Chart {
    private static final int HEIGHT = 440;

    private final String name;
    private final String title;
    private final String x;
    private final String y;
    private final YIntervalSeriesCollection lines = new YIntervalSeriesCollection();
    private boolean isLogarithmic;
    private boolean hasMarks = true;
    private double yMax = Double.NaN;

    /**
     * @param name of the file, without its ending
     * @param x what the horizontal axis shows, with its unit
     * @param y what the vertical axis shows, with its unit; it begins at 0
     */
    public LineChart(String name, String title, String x, String y) {
        this.name = name;
        this.title = title;
        this.x = x;
        this.y = y;
    }

    /** Each step of the horizontal axis is twice or ten times the one before; all above 0. */
    public LineChart logarithmic() {
        isLogarithmic = true;
        return this;
    }

    /** The vertical axis ends there. */
    public LineChart upTo(double yMax) {
        this.yMax = yMax;
        return this;
    }

    /** For lines of so many points that marks would hide them. */
    public LineChart withoutMarks() {
        hasMarks = false;
        return this;
    }

    /** A point of a line; lines have the order in which they were begun. */
    public void point(String line, double x, double y) {
        point(line, x, y, y, y);
    }

    /** A point that stands for several. */
    public void point(String line, double x, double y, double low, double high) {
        int at = lines.indexOf(line);
        if (at < 0) {
            lines.addSeries(new YIntervalSeries(line));
            at = lines.getSeriesCount() - 1;
        }
        if (Double.isFinite(y)) {
            lines.getSeries(at).add(x, y, low, high);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int height() {
        return HEIGHT;
    }

    @Override
    public JFreeChart draw() {
        XYErrorRenderer renderer = new XYErrorRenderer();
        renderer.setDefaultLinesVisible(true);
        renderer.setDrawSeriesLineAsPath(true);
        renderer.setDrawXError(false);
        renderer.setDrawYError(hasMarks);
        renderer.setCapLength(4);
        for (int i = 0; i < lines.getSeriesCount(); i++) {
            renderer.setSeriesPaint(i, Look.colour(i));
            renderer.setSeriesShape(i, Look.mark(i));
            renderer.setSeriesStroke(i, hasMarks ? Look.line() : Look.line(i));
            renderer.setSeriesShapesVisible(i, hasMarks);
        }
        NumberAxis vertical = new NumberAxis(y);
        vertical.setAutoRangeIncludesZero(true);
        if (Double.isFinite(yMax)) {
            vertical.setRange(0, yMax);
        }
        Look.axis(vertical);
        XYPlot plot = new XYPlot(lines, horizontal(), vertical, renderer);
        plot.setDomainGridlinePaint(Look.GRID);
        plot.setRangeGridlinePaint(Look.GRID);
        return Look.chart(title, plot, lines.getSeriesCount());
    }

    private ValueAxis horizontal() {
        if (!isLogarithmic) {
            NumberAxis axis = new NumberAxis(x);
            axis.setAutoRangeIncludesZero(true);
            Look.axis(axis);
            return axis;
        }
        LogAxis axis = new LogAxis(x);
        axis.setTickUnit(new NumberTickUnit(1));
        axis.setNumberFormatOverride(
                new DecimalFormat("#,##0.######", DecimalFormatSymbols.getInstance(Locale.ROOT)));
        Look.axis(axis);
        return axis;
    }
}
