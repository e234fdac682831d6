package dev.metaroce.tools.environment;

import org.junit.jupiter.api.Assumptions;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A virtual machine with rdma_rxe and perftest in a network namespace of a {@link NetLab}: see
 * interop/rxe. The test is skipped, with the line that the scripts print, where there can be none.
 */
final class RxeGuest implements AutoCloseable {
    /** The guest, as programs in the namespace see it. */
    static final String ADDRESS = "10.44.0.1";

    /** The namespace, as the guest sees it. */
    static final String HERE = "10.44.0.254";

    static final String HERE6 = "fd44::fe";

    private static final Path SCRIPTS = Path.of("..", "interop", "rxe");
    private static final int BUILD_S = 300;
    private static final int BOOT_S = 120;
    private static final int COMMAND_S = 60;
    private static final int CANNOT = 3;

    private final Netns net;

    private RxeGuest(Netns net) {
        this.net = net;
    }

    /** Builds the machine if need be, and boots it. */
    static RxeGuest boot(Netns net) {
        expectPossible(Shell.run(BUILD_S, List.of(SCRIPTS.resolve("build").toString())));
        RxeGuest guest = new RxeGuest(net);
        expectPossible(guest.script(BOOT_S, "start", "a"));
        return guest;
    }

    private static void expectPossible(Shell.Result result) {
        if (result.exitCode() == CANNOT) {
            String said = result.output().strip();
            String why = said.substring(said.lastIndexOf('\n') + 1);
            // The reports of Maven keep the reason to themselves.
            System.out.println("RoCEv2 is not tried with rdma_rxe: " + why);
            Assumptions.abort(why);
        }
        result.expectSuccess();
    }

    private Shell.Result script(int patienceS, String... words) {
        List<String> command = new ArrayList<>();
        command.add(SCRIPTS.resolve("guest").toString());
        command.addAll(List.of("--net", net.name(), "--time", COMMAND_S + ""));
        command.addAll(List.of(words));
        return Shell.run(patienceS, command);
    }

    /** Runs a command to its end; its output. */
    String run(String command) {
        return script(COMMAND_S + 30, "run", "a", command).expectSuccess();
    }

    /** Starts a command; {@link #join} waits for it. */
    String spawn(String command) {
        return script(COMMAND_S, "spawn", "a", command).expectSuccess().strip();
    }

    /** Output of a command that was started, when it has ended well. */
    String join(String job) {
        return script(COMMAND_S + 30, "join", "a", job).expectSuccess();
    }

    @Override
    public void close() {
        script(COMMAND_S, "down");
    }
}
