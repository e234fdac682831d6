package dev.metaroce.tools.chart;

import dev.metaroce.tools.cli.ToolException;

import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.jfree.chart.text.TextUtils;
import org.w3c.dom.Document;

import java.awt.Dimension;
import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;

import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;

/** A directory of charts, an SVG file each: the same chart gives the same bytes. */
public final class ChartFiles {
    private static final String SVG = "http://www.w3.org/2000/svg";

    private final Path directory;

    private ChartFiles(Path directory) {
        this.directory = directory;
    }

    /** Makes the directory unless it is there, so that a wrong name is told in time. */
    public static ChartFiles in(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw ToolException.usage(
                    "cannot make the directory of --charts '%s' (%s): name another one"
                            .formatted(directory, e.getClass().getSimpleName()));
        }
        // There need not be a display.
        System.setProperty("java.awt.headless", "true");
        // Upright text is text in the file too, not outlines of letters.
        TextUtils.setUseDrawRotatedStringWorkaround(false);
        return new ChartFiles(directory);
    }

    /** Draws a chart into its file. */
    public void write(Chart chart) {
        Path file = directory.resolve(chart.name() + ".svg");
        SVGGraphics2D graphics = graphics();
        Dimension size = new Dimension(Look.WIDTH, chart.height());
        graphics.setSVGCanvasSize(size);
        chart.draw().draw(graphics, new Rectangle2D.Double(0, 0, size.width, size.height));
        try (Writer out = Files.newBufferedWriter(file)) {
            graphics.stream(out, true);
        } catch (IOException e) {
            throw ToolException.failed(
                    "cannot write the chart '%s' (%s): is the disk full?"
                            .formatted(file, e.getClass().getSimpleName()));
        }
    }

    private static SVGGraphics2D graphics() {
        try {
            Document document =
                    DocumentBuilderFactory.newInstance()
                            .newDocumentBuilder()
                            .getDOMImplementation()
                            .createDocument(SVG, "svg", null);
            SVGGeneratorContext context = SVGGeneratorContext.createDefault(document);
            context.setComment(null);
            return new SVGGraphics2D(context, false);
        } catch (ParserConfigurationException e) {
            throw new IllegalStateException(e); // the default configuration exists
        }
    }
}
