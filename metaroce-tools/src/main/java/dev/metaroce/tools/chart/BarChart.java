package dev.metaroce.tools.chart;

import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.labels.ItemLabelAnchor;
import org.jfree.chart.labels.ItemLabelPosition;
import org.jfree.chart.labels.StandardCategoryItemLabelGenerator;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.category.DefaultCategoryDataset;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Locale;

/** Bars from left to right, in groups one below the other. */
public final class BarChart implements Chart {
    private static final int FRAME = 120;
    private static final int BAR = 18;
    private static final int GAP = 8;

    private final String name;
    private final String title;
    private final String values;
    private double reference = Double.NaN;
    private final DefaultCategoryDataset bars = new DefaultCategoryDataset();

    /**
     * @param name of the file, without its ending
     * @param values what the bars show, with its unit
     */
    public BarChart(String name, String title, String values) {
        this.name = name;
        this.title = title;
        this.values = values;
    }

    /** A bar; groups, and the bars of each, have the order in which they were begun. */
    public void bar(String group, String series, double value) {
        bars.addValue(Double.isFinite(value) ? value : null, series, group);
    }

    /** A dashed line for the eye at the end of such a bar. */
    public void reference(double value) {
        reference = value;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int height() {
        return FRAME + bars.getColumnCount() * (GAP + BAR * bars.getRowCount());
    }

    @Override
    public JFreeChart draw() {
        BarRenderer renderer = new BarRenderer();
        renderer.setBarPainter(new StandardBarPainter());
        renderer.setShadowVisible(false);
        renderer.setItemMargin(0.05);
        renderer.setDefaultItemLabelsVisible(true);
        renderer.setDefaultItemLabelFont(Look.TEXT);
        renderer.setDefaultItemLabelGenerator(
                new StandardCategoryItemLabelGenerator(
                        "{2}",
                        new DecimalFormat(
                                "#,##0.0", DecimalFormatSymbols.getInstance(Locale.ROOT))));
        renderer.setDefaultPositiveItemLabelPosition(
                new ItemLabelPosition(ItemLabelAnchor.OUTSIDE3, TextAnchor.CENTER_LEFT));
        for (int i = 0; i < bars.getRowCount(); i++) {
            renderer.setSeriesPaint(i, Look.colour(i));
        }
        CategoryAxis groups = new CategoryAxis();
        groups.setMaximumCategoryLabelWidthRatio(0.5f);
        groups.setCategoryMargin(0.2);
        Look.axis(groups);
        NumberAxis axis = new NumberAxis(values);
        axis.setUpperMargin(0.1);
        Look.axis(axis);
        CategoryPlot plot = new CategoryPlot(bars, groups, axis, renderer);
        plot.setOrientation(PlotOrientation.HORIZONTAL);
        plot.setRangeAxisLocation(AxisLocation.BOTTOM_OR_LEFT);
        if (Double.isFinite(reference)) {
            plot.addRangeMarker(Look.marker(reference));
        }
        plot.setRangeGridlinePaint(Look.GRID);
        return Look.chart(title, plot, bars.getRowCount());
    }
}
