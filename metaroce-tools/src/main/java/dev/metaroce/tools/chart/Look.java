package dev.metaroce.tools.chart;

import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.Axis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.Plot;
import org.jfree.chart.plot.ValueMarker;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Shape;
import java.awt.Stroke;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;

/**
 * What all charts look like: dark on white, with the colours of Okabe and Ito, which people who
 * take some colours for one still tell apart. Lines differ by their marks too.
 */
final class Look {
    static final int WIDTH = 800;
    static final Font TEXT = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
    static final Color GRID = new Color(0xDDDDDD);

    private static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 16);
    private static final Color INK = new Color(0x222222);
    private static final int MARK = 8;

    private static final Color[] COLOURS = {
        new Color(0x0072B2),
        new Color(0xD55E00),
        new Color(0x009E73),
        new Color(0xCC79A7),
        new Color(0xE69F00),
        new Color(0x56B4E9),
        new Color(0x000000)
    };

    private static final Shape[] MARKS = {
        new Ellipse2D.Double(-MARK / 2.0, -MARK / 2.0, MARK, MARK),
        new Rectangle2D.Double(-MARK / 2.0, -MARK / 2.0, MARK, MARK),
        polygon(0, -5, 5, 4, -5, 4),
        polygon(0, -6, 5, 0, 0, 6, -5, 0),
        polygon(0, 5, 5, -4, -5, -4),
        polygon(-5, -2, -2, -2, -2, -5, 2, -5, 2, -2, 5, -2, 5, 2, 2, 2, 2, 5, -2, 5, -2, 2, -5, 2)
    };

    private static final float[][] DASHES = {{}, {8, 3}, {2, 2}, {8, 3, 2, 3}, {4, 4}};

    private Look() {}

    static Color colour(int series) {
        return COLOURS[series % COLOURS.length];
    }

    static Shape mark(int series) {
        return MARKS[series % MARKS.length];
    }

    static Stroke line() {
        return new BasicStroke(2f, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND);
    }

    /** Where there are no marks lines differ by their dashes. */
    static Stroke line(int series) {
        float[] dashes = DASHES[series % DASHES.length];
        return dashes.length == 0
                ? line()
                : new BasicStroke(
                        2f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 10f, dashes, 0f);
    }

    /** A dashed line across the plot. */
    static ValueMarker marker(double value) {
        float[] dashes = {5f, 4f};
        Stroke dashed =
                new BasicStroke(1f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_MITER, 10f, dashes, 0f);
        return new ValueMarker(value, INK, dashed);
    }

    static JFreeChart chart(String title, Plot plot, int series) {
        JFreeChart chart = new JFreeChart(title, TITLE, plot, series > 1);
        chart.setBackgroundPaint(Color.WHITE);
        chart.setPadding(new RectangleInsets(10, 10, 10, 16));
        TextTitle heading = chart.getTitle();
        heading.setHorizontalAlignment(HorizontalAlignment.LEFT);
        heading.setPaint(INK);
        heading.setPadding(0, 4, 10, 4);
        if (series > 1) {
            chart.getLegend().setItemFont(TEXT);
            chart.getLegend().setFrame(BlockBorder.NONE);
            chart.getLegend().setPosition(RectangleEdge.BOTTOM);
        }
        plot.setBackgroundPaint(Color.WHITE);
        plot.setOutlineVisible(false);
        return chart;
    }

    static void axis(Axis axis) {
        axis.setLabelFont(TEXT);
        axis.setTickLabelFont(TEXT);
        axis.setLabelPaint(INK);
        axis.setTickLabelPaint(INK);
        axis.setAxisLinePaint(INK);
        axis.setTickMarkPaint(INK);
    }

    private static Shape polygon(double... xy) {
        Path2D path = new Path2D.Double();
        path.moveTo(xy[0], xy[1]);
        for (int i = 2; i < xy.length; i += 2) {
            path.lineTo(xy[i], xy[i + 1]);
        }
        path.closePath();
        return path;
    }
}
