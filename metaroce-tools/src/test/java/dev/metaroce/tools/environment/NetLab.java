package dev.metaroce.tools.environment;

import org.junit.jupiter.api.Assumptions;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Network namespaces joined by veth pairs, for one test. Everything is gone after {@link #close},
 * processes in the namespaces included; what a run that died left over goes when the next lab
 * opens. Names hold the process id of the test, so that runs do not meet.
 *
 * <p>Where namespaces cannot be made, which takes root and iproute2, the test is skipped with one
 * line that says why.
 */
final class NetLab implements AutoCloseable {
    private static final String PREFIX = "metaroce-";
    private static final AtomicInteger LABS = new AtomicInteger();

    private final String prefix =
            PREFIX + ProcessHandle.current().pid() + "-" + LABS.incrementAndGet() + "-";
    private final List<Netns> spaces = new ArrayList<>();
    private final Thread onExit = new Thread(this::removeAll);

    private NetLab() {
        // A test that is stopped half-way closes nothing.
        Runtime.getRuntime().addShutdownHook(onExit);
    }

    /** A lab without namespaces; skips the test where there can be none. */
    static NetLab open() {
        Shell.Result list = Shell.run("ip", "netns", "list");
        skipUnless(list);
        for (String line : list.output().lines().toList()) {
            removeIfLeftOver(line.split(" ")[0]);
        }
        String probe = PREFIX + ProcessHandle.current().pid() + "-probe";
        skipUnless(Shell.run("ip", "netns", "add", probe));
        Shell.run("ip", "netns", "del", probe).expectSuccess();
        return new NetLab();
    }

    private static void skipUnless(Shell.Result result) {
        Assumptions.assumeTrue(
                result.exitCode() == 0,
                () -> "needs network namespaces (root, package iproute2): " + result);
    }

    private static void removeIfLeftOver(String name) {
        if (name.matches(PREFIX + "\\d+-.*")) {
            long owner = Long.parseLong(name.split("-")[1]);
            if (ProcessHandle.of(owner).isEmpty()) {
                new Netns(name).remove();
            }
        }
    }

    /** A new namespace with its loopback interface up. */
    Netns add(String name) {
        Netns space = new Netns(prefix + name);
        spaces.add(space);
        Shell.run("ip", "netns", "add", space.name()).expectSuccess();
        space.ip("link", "set", "lo", "up");
        return space;
    }

    /** Joins two namespaces by a cable, up at both ends, without addresses. */
    void join(Netns a, String deviceA, Netns b, String deviceB, int mtu) {
        a.ip(
                List.of(
                        ("link add name %s mtu %d type veth peer name %s mtu %d netns %s")
                                .formatted(deviceA, mtu, deviceB, mtu, b.name())
                                .split(" ")));
        a.ip("link", "set", deviceA, "up");
        b.ip("link", "set", deviceB, "up");
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(onExit);
        removeAll();
    }

    private void removeAll() {
        spaces.forEach(Netns::remove);
    }
}
