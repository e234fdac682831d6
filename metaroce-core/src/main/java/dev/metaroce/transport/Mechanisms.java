package dev.metaroce.transport;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;

/**
 * Which of the interchangeable mechanisms a device uses. {@link #DEFAULT} is what the specification
 * asks for; anything else is for studies of what a mechanism earns. All of them are the sender's
 * own affair: its peer needs to know nothing of them.
 *
 * @param congestion window law of a path
 * @param paths choice of a path
 * @param sackBits of an acknowledgement that are used in profile M: 256; 64, so that a path has at
 *     most 64 packets under way; 0, so that holes are found one in a round trip, by the time that
 *     an acknowledgement echoes
 * @param sequence what has a sequence of its own in profile M
 * @param resend the way of a packet that is sent again
 * @param ecn false: data is sent as not ECN-capable, so that nothing of it is ever marked
 */
public record Mechanisms(
        CongestionAlgorithm congestion,
        PathStrategy paths,
        int sackBits,
        SequenceSpace sequence,
        ResendRoute resend,
        boolean ecn) {
    /** As specified. */
    public static final Mechanisms DEFAULT =
            new Mechanisms(
                    CongestionAlgorithm.ECN_AIMD,
                    PathStrategy.WEIGHTED,
                    256,
                    SequenceSpace.PATH,
                    ResendRoute.SAME_PATH,
                    true);

    public Mechanisms {
        if (sackBits != 0 && sackBits != 64 && sackBits != 256) {
            throw new IllegalArgumentException(
                    "Mechanisms: sackBits " + sackBits + " is not 0, 64 or 256");
        }
    }

    /** The same with another window law. */
    public Mechanisms with(CongestionAlgorithm value) {
        return new Mechanisms(value, paths, sackBits, sequence, resend, ecn);
    }

    /** The same with another choice of paths. */
    public Mechanisms with(PathStrategy value) {
        return new Mechanisms(congestion, value, sackBits, sequence, resend, ecn);
    }

    /** The same with so many bits of acknowledgements: 0, 64 or 256. */
    public Mechanisms withSackBits(int value) {
        return new Mechanisms(congestion, paths, value, sequence, resend, ecn);
    }

    /** The same with another owner of sequences. */
    public Mechanisms with(SequenceSpace value) {
        return new Mechanisms(congestion, paths, sackBits, value, resend, ecn);
    }

    /** The same with another way for what is sent again. */
    public Mechanisms with(ResendRoute value) {
        return new Mechanisms(congestion, paths, sackBits, sequence, value, ecn);
    }

    /** The same with or without ECN. */
    public Mechanisms withEcn(boolean value) {
        return new Mechanisms(congestion, paths, sackBits, sequence, resend, value);
    }
}
