package dev.metaroce.sim.fabric;

/** An entry of a plan of link failures and repairs; see {@link Fabric#plan}. */
public record LinkChange(long atPs, int link, boolean down) {}
