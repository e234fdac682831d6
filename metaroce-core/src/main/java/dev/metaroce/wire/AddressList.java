package dev.metaroce.wire;

/**
 * The addresses of an endpoint that has several, one for each of its planes and in their order, as
 * REQUEST and GRANT carry them. Each takes 20 bytes:
 *
 * <pre>
 *      0               1               2               3
 *     +---------------------------------------------------------------+
 *   0 |              IPv6 address, IPv4 mapped (16 bytes)            ...
 *     +-------------------------------+-------------------------------+
 *  16 |           UDP port            |           reserved            |
 *     +-------------------------------+-------------------------------+
 * </pre>
 */
public final class AddressList {
    /** The most addresses of an endpoint. */
    public static final int MAX = 8;

    private static final int ENTRY_BYTES = 20;
    private static final int PORT_AT = 16;
    static final NetAddress[] NONE = {};

    private AddressList() {}

    /** What a list of so many adds to a message. */
    public static int bytes(int count) {
        return count * ENTRY_BYTES;
    }

    /** True for the lengths that a list may have: one address alone needs no list. */
    static boolean isLength(int count) {
        return count == 0 || (count >= 2 && count <= MAX);
    }

    static NetAddress[] read(PacketMemory m, int at, int count) {
        NetAddress[] addresses = count == 0 ? NONE : new NetAddress[count];
        for (int i = 0; i < count; i++) {
            int entry = at + i * ENTRY_BYTES;
            addresses[i] =
                    new NetAddress(
                            m.i64(entry), m.i64(entry + Long.BYTES), m.u16(entry + PORT_AT), 0, 0);
        }
        return addresses;
    }

    static void write(PacketMemory m, int at, NetAddress[] addresses) {
        for (int i = 0; i < addresses.length; i++) {
            int entry = at + i * ENTRY_BYTES;
            m.put64(entry, addresses[i].high());
            m.put64(entry + Long.BYTES, addresses[i].low());
            m.put32(entry + PORT_AT, addresses[i].port() << 16);
        }
    }
}
