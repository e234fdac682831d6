/** The command where the machine is unusual: networks of its own, little to use, no rights. */
package dev.metaroce.tools.environment;
