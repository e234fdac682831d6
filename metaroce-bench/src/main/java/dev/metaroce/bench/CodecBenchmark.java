package dev.metaroce.bench;

import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Headers written and read, without checksum and payload: a DATA packet of a WRITE, and an ACK with
 * one record and its SACK.
 */
public class CodecBenchmark extends HotPathBenchmark {
    private static final int PAYLOAD_BYTES = 4096;
    private static final long MESSAGE_BYTES = 1 << 20;
    private static final int DATA_BYTES =
            Opcode.WRITE.headerBytes() + PAYLOAD_BYTES + CommonHeader.TRAILER_BYTES;
    private static final int ACK_BYTES =
            CommonHeader.BYTES
                    + AckHeader.LEASE_BYTES
                    + AckHeader.RECORD_BYTES
                    + AckHeader.SACK_BYTES
                    + CommonHeader.TRAILER_BYTES;
    private static final int TOKEN = CommonHeader.token(3, 7);

    private final PacketMemory out = new PacketMemory(DATA_BYTES);
    private final PacketMemory data = new PacketMemory(DATA_BYTES);
    private final PacketMemory ack = new PacketMemory(ACK_BYTES);
    private final long[] sack = {0xF0F0, 1L << 63, 0, 42};
    private final long[] sackRead = new long[4];
    private int psn;

    /** Makes the packets that are read. */
    @Setup
    public void packets() {
        writeData(data, 1);
        writeAck(ack, 1);
        if (!DataHeader.wellFormed(data, 0, DATA_BYTES)
                || !AckHeader.wellFormed(ack, 0, ACK_BYTES)) {
            throw new IllegalStateException("the packets to be read are not well-formed");
        }
    }

    @Benchmark
    public PacketMemory encodeData() {
        writeData(out, psn++);
        return out;
    }

    @Benchmark
    public PacketMemory encodeAck() {
        writeAck(out, psn++);
        return out;
    }

    /** Checks a DATA packet and reads the fields that the responder needs. */
    @Benchmark
    public void parseData(Blackhole hole) {
        hole.consume(DataHeader.wellFormed(data, 0, DATA_BYTES));
        hole.consume(CommonHeader.ctx(data, 0));
        hole.consume(CommonHeader.path(data, 0));
        hole.consume(CommonHeader.stream(data, 0));
        hole.consume(CommonHeader.psn(data, 0));
        hole.consume(CommonHeader.txTime(data, 0));
        hole.consume(DataHeader.msn(data, 0));
        hole.consume(DataHeader.msgOffset(data, 0));
        hole.consume(DataHeader.length(data, 0));
        hole.consume(DataHeader.slot(data, 0));
        hole.consume(DataHeader.va(data, 0));
        hole.consume(DataHeader.rkey(data, 0));
        hole.consume(DataHeader.payloadBytes(data, 0, DATA_BYTES));
    }

    /** Checks an ACK packet and reads its lease block, its record and its SACK. */
    @Benchmark
    public void parseAck(Blackhole hole) {
        hole.consume(AckHeader.wellFormed(ack, 0, ACK_BYTES));
        hole.consume(CommonHeader.ctx(ack, 0));
        hole.consume(AckHeader.rxUnits(ack, 0));
        hole.consume(AckHeader.rateHint(ack, 0));
        hole.consume(AckHeader.hintSeq(ack, 0));
        hole.consume(AckHeader.window(ack, 0));
        hole.consume(AckHeader.cid(ack, 0));
        hole.consume(AckHeader.epoch(ack, 0));
        int record = AckHeader.firstRecord(0);
        hole.consume(AckHeader.path(ack, record));
        hole.consume(AckHeader.ackDelay(ack, record));
        hole.consume(AckHeader.cumPsn(ack, record));
        hole.consume(AckHeader.echoTime(ack, record));
        hole.consume(AckHeader.cePackets(ack, record));
        AckHeader.readSack(ack, AckHeader.sackAt(record), sackRead, 0);
        hole.consume(sackRead);
    }

    private static void writeData(PacketMemory to, int psn) {
        int type = PacketType.DATA.code();
        int opcode = Opcode.WRITE.code();
        CommonHeader.encode(to, 0, type, Flags.ACK_REQ, TOKEN, 5, opcode, 9, psn, psn);
        DataHeader.encodeMessage(to, 0, psn, PAYLOAD_BYTES, MESSAGE_BYTES, 11, 0);
        DataHeader.encodeReth(to, 0, 0x7F00_0000_0000L, 0xC0FFEE, 0);
    }

    private void writeAck(PacketMemory to, int psn) {
        CommonHeader.encode(to, 0, PacketType.ACK.code(), 0, 3, 5, 0, 0, 0, psn);
        AckHeader.encodeLease(to, 0, psn, AckHeader.RATE_NONE, 1, 512, 17, 1, 3, 7);
        int record = AckHeader.firstRecord(0);
        int behind = AckHeader.putRecord(to, record, 5, AckHeader.RFLAG_SACK, 10, psn, psn, 0);
        AckHeader.putSack(to, behind, sack, 0);
    }
}
