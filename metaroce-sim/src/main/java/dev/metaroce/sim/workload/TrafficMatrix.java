package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads traffic-matrix files of htsim:
 *
 * <pre>{@code
 * Nodes 16
 * Connections 2
 * Triggers 1
 * 0->1 id 1 start 0 size 2000000 send_done_trigger 1
 * 1->2 id 2 trigger 1 size 2000000
 * trigger id 1 oneshot
 * }</pre>
 *
 * <p>A start is in picoseconds. A trigger is {@code oneshot}, {@code multishot} or {@code barrier
 * n}. {@code recv_done_trigger} means the same as {@code send_done_trigger}: a flow is done when
 * its last byte is acknowledged.
 */
public final class TrafficMatrix {
    private static final Pattern PAIR = Pattern.compile("([0-9]{1,9})->([0-9]{1,9})");
    private static final long NUMBER_MAX = FlowList.START_MAX_PS;
    private static final long UNSAID = -1;

    private static final List<String> KEYS =
            List.of("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger");

    private static final int ID = KEYS.indexOf("id");
    private static final int START = KEYS.indexOf("start");
    private static final int SIZE = KEYS.indexOf("size");
    private static final int TRIGGER = KEYS.indexOf("trigger");
    private static final int SEND_DONE = KEYS.indexOf("send_done_trigger");

    private final TextLines lines;
    private final int hosts;
    private final FlowList.Builder builder;
    private final Map<String, Header> headers = new HashMap<>();
    private final List<Connection> connections = new ArrayList<>();

    /** By id of a trigger: its number in the workload. */
    private final Map<Long, Integer> triggers = new HashMap<>();

    private record Header(int line, long value) {}

    private static final class Connection {
        private final int line;
        private final int source;
        private final int destination;
        private final long[] values = new long[KEYS.size()];

        Connection(int line, int source, int destination) {
            this.line = line;
            this.source = source;
            this.destination = destination;
            Arrays.fill(values, UNSAID);
        }
    }

    private TrafficMatrix(String file, String text, int hosts) {
        lines = new TextLines(file, text);
        this.hosts = hosts;
        builder = FlowList.builder("matrix", hosts);
    }

    /**
     * @param file its name in messages
     * @param hosts how many the topology has
     * @throws ConfigException with file, line and reason
     */
    public static FlowList parse(String file, String text, int hosts) {
        TrafficMatrix matrix = new TrafficMatrix(file, text, hosts);
        matrix.read();
        matrix.checkHeaders();
        return matrix.build();
    }

    private void read() {
        while (lines.next()) {
            String[] words = lines.words();
            switch (words[0]) {
                case "Nodes", "Connections", "Triggers" -> readHeader(words);
                case "trigger" -> readTrigger(words);
                default -> readConnection(words);
            }
        }
        if (connections.isEmpty()) {
            throw lines.error("has no connections, as: 0->1 start 0 size 2000000");
        }
    }

    private void readHeader(String[] words) {
        if (words.length != 2) {
            throw lines.error("'%s' is not: %s number".formatted(lines.line(), words[0]));
        }
        long value = lines.whole(words[0], words[1], 0, NUMBER_MAX);
        if (headers.put(words[0], new Header(lines.number(), value)) != null) {
            throw lines.error(words[0] + " is said twice");
        }
    }

    private void checkHeaders() {
        Header nodes = headers.get("Nodes");
        if (nodes != null && nodes.value > hosts) {
            throw lines.error(
                    nodes.line,
                    "Nodes %d: the topology has %d hosts".formatted(nodes.value, hosts));
        }
        checkCount("Connections", connections.size());
        checkCount("Triggers", triggers.size());
    }

    private void checkCount(String name, int count) {
        Header said = headers.get(name);
        if (said != null && said.value != count) {
            throw lines.error(
                    said.line, "%s %d: the file lists %d".formatted(name, said.value, count));
        }
    }

    private void readTrigger(String[] words) {
        boolean isBarrier = words.length == 5 && words[3].equals("barrier");
        boolean isShot =
                words.length == 4 && (words[3].equals("oneshot") || words[3].equals("multishot"));
        if (!(isBarrier || isShot) || !words[1].equals("id")) {
            throw lines.error(
                    "'%s' is not: trigger id number oneshot|multishot|barrier n"
                            .formatted(lines.line()));
        }
        long id = lines.whole("id", words[2], 0, NUMBER_MAX);
        int trigger =
                switch (words[3]) {
                    case "multishot" -> builder.addMultishot();
                    case "oneshot" -> builder.addBarrier(1);
                    default ->
                            builder.addBarrier(
                                    (int) lines.whole("barrier", words[4], 1, FlowList.FLOWS_MAX));
                };
        if (triggers.put(id, trigger) != null) {
            throw lines.error("trigger %d is listed twice".formatted(id));
        }
    }

    private void readConnection(String[] words) {
        Matcher pair = PAIR.matcher(words[0]);
        if (!pair.matches() || words.length % 2 == 0) {
            throw lines.error(
                    "'%s' is not: source->destination start picoseconds size bytes"
                            .formatted(lines.line()));
        }
        int source = (int) lines.whole("host", pair.group(1), 0, hosts - 1);
        int destination = (int) lines.whole("host", pair.group(2), 0, hosts - 1);
        if (source == destination) {
            throw lines.error("%s sends to itself".formatted(words[0]));
        }
        Connection connection = new Connection(lines.number(), source, destination);
        for (int i = 1; i < words.length; i += 2) {
            readValue(connection, words[i], words[i + 1]);
        }
        if (connection.values[SIZE] == UNSAID) {
            throw lines.error("has no size");
        }
        if ((connection.values[START] == UNSAID) == (connection.values[TRIGGER] == UNSAID)) {
            throw lines.error("should have either a start or a trigger");
        }
        connections.add(connection);
    }

    private void readValue(Connection connection, String key, String word) {
        int index = KEYS.indexOf(key);
        if (index < 0) {
            throw lines.error(
                    "unknown word '%s': known are %s".formatted(key, String.join(", ", KEYS)));
        }
        if (connection.values[index] != UNSAID) {
            throw lines.error(key + " is said twice");
        }
        long max = index == SIZE ? Quantities.BYTES_MAX : NUMBER_MAX;
        connection.values[index] = lines.whole(key, word, 0, max);
    }

    private FlowList build() {
        for (Connection its : connections) {
            int source = its.source;
            int destination = its.destination;
            long size = its.values[SIZE];
            int flow =
                    its.values[TRIGGER] == UNSAID
                            ? builder.add(source, destination, its.values[START], size)
                            : builder.addTriggered(
                                    source, destination, trigger(its, TRIGGER), size);
            builder.id(flow, its.values[ID] == UNSAID ? flow : its.values[ID]);
            for (int key = SEND_DONE; key < KEYS.size(); key++) {
                if (its.values[key] != UNSAID) {
                    builder.setsOff(flow, trigger(its, key));
                }
            }
        }
        FlowList flows = builder.buildUnchecked();
        int stuck = flows.firstStuck();
        if (stuck >= 0) {
            Connection its = connections.get(stuck);
            throw lines.error(
                    its.line,
                    "would never start: too few connections set off trigger "
                            + its.values[TRIGGER]);
        }
        return flows;
    }

    private int trigger(Connection its, int key) {
        Integer trigger = triggers.get(its.values[key]);
        if (trigger == null) {
            throw lines.error(
                    its.line,
                    "%s %d: no line lists it, as: trigger id %d oneshot"
                            .formatted(KEYS.get(key), its.values[key], its.values[key]));
        }
        return trigger;
    }
}
