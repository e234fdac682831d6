package dev.metaroce.tools.environment;

import dev.metaroce.tools.Tool;

import java.util.ArrayList;
import java.util.List;

/** One network namespace of a {@link NetLab}. */
final class Netns {
    private final String name;

    Netns(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    /** What to write before a command that is to run here. */
    List<String> launcher() {
        return List.of("ip", "netns", "exec", name);
    }

    /** Runs the {@code ip} command on this namespace. */
    void ip(String... arguments) {
        ip(List.of(arguments));
    }

    void ip(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of("ip", "-n", name));
        command.addAll(arguments);
        Shell.run(command).expectSuccess();
    }

    /** Gives a device an address with the length of its network; IPv6 can use it at once. */
    void address(String device, String address) {
        List<String> command = new ArrayList<>(List.of("address", "add", address, "dev", device));
        if (address.contains(":")) {
            command.add("nodad");
        }
        ip(command);
    }

    /** Runs a program here to its end; returns its output. */
    String run(String... command) {
        List<String> all = new ArrayList<>(launcher());
        all.addAll(List.of(command));
        return Shell.run(all).expectSuccess();
    }

    /** Starts {@code metaroce} here. */
    Tool metaroce(String... arguments) {
        return Tool.start(launcher(), Tool.jar(), List.of(), List.of(arguments));
    }

    /** Packets that the kernel cut, put together, or tried to, since the namespace was made. */
    long fragments() {
        long sum = 0;
        String[] rows = run("grep", "-h", "^Ip:", "/proc/net/snmp").split("\n");
        String[] names = rows[0].split(" ");
        String[] values = rows[1].split(" ");
        for (int i = 1; i < names.length; i++) {
            if (names[i].startsWith("Frag") || names[i].startsWith("Reasm")) {
                sum += Long.parseLong(values[i]);
            }
        }
        for (String line : run("cat", "/proc/net/snmp6").split("\n")) {
            if (line.startsWith("Ip6Frag") || line.startsWith("Ip6Reasm")) {
                sum += Long.parseLong(line.split("\\s+")[1]);
            }
        }
        return sum;
    }

    /** Kills what runs here and removes the namespace with its devices. */
    void remove() {
        for (String pid : Shell.run("ip", "netns", "pids", name).output().split("\\s+")) {
            if (pid.matches("\\d+")) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
        Shell.run("ip", "netns", "del", name);
    }
}
