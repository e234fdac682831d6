package dev.metaroce.tools.sim;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.SizeDistribution;
import dev.metaroce.sim.workload.Sizes;
import dev.metaroce.sim.workload.WorkloadSpec;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.util.function.Function;

/** Converters of values with the parsers that files of the simulator use too. */
public abstract class Quantity<T> implements ITypeConverter<T> {
    private final Function<String, T> parser;

    private Quantity(Function<String, T> parser) {
        this.parser = parser;
    }

    @Override
    public T convert(String text) {
        try {
            return parser.apply(text);
        } catch (ConfigException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }

    /** Bits per second. */
    public static final class Rate extends Quantity<Long> {
        public Rate() {
            super(Quantities::bitsPerSecond);
        }
    }

    /** Picoseconds. */
    public static final class Delay extends Quantity<Long> {
        public Delay() {
            super(Quantities::delayPs);
        }
    }

    /** Bytes. */
    public static final class Size extends Quantity<Long> {
        public Size() {
            super(Quantities::bytes);
        }
    }

    /** A shape of network. */
    static final class TopologyKind extends Quantity<TopologySpec.Kind> {
        TopologyKind() {
            super(TopologySpec.Kind::named);
        }
    }

    /** A kind of traffic. */
    static final class WorkloadKind extends Quantity<WorkloadSpec.Kind> {
        WorkloadKind() {
            super(WorkloadSpec.Kind::named);
        }
    }

    /** A law of message sizes. */
    static final class SizeLaw extends Quantity<SizeDistribution> {
        SizeLaw() {
            super(Sizes::parse);
        }
    }
}
