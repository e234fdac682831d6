package dev.metaroce.tools.chart;

import org.jfree.chart.JFreeChart;

/** What can be drawn. */
public sealed interface Chart permits LineChart, BarChart {
    /** Of the file, without its ending. */
    String name();

    /** In the units of SVG, as wide as all charts are. */
    int height();

    /** The drawing. */
    JFreeChart draw();
}
