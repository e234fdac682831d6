/** The command in networks of its own, made of Linux network namespaces. */
package dev.metaroce.tools.netlab;
