package dev.metaroce.wire;

/** The bodies of control packets in words, for {@link PacketView}. */
final class ControlText {
    private ControlText() {}

    /** The fields of a well-formed packet, without opcode, context and nonce. */
    static String body(ControlOpcode opcode, PacketMemory m, int at) {
        return switch (opcode) {
            case REQUEST -> request(m, at);
            case GRANT -> grant(m, at);
            case QUEUED ->
                    "position "
                            + ControlMessage.queuedPosition(m, at)
                            + " wait "
                            + ControlMessage.queuedWaitUs(m, at)
                            + "us";
            case DENY -> deny(m, at);
            case RELEASE -> release(m, at);
            case RELEASE_ACK, KEEPALIVE -> lease(m, at);
            case RECLAIM ->
                    lease(m, at)
                            + " "
                            + ReclaimReason.of(ControlMessage.reclaimReason(m, at))
                            + " deadline "
                            + ControlMessage.reclaimDeadlineUs(m, at)
                            + "us";
            case KEEPALIVE_ACK -> "endpoint " + hex(ControlMessage.keepaliveAckEndpointId(m, at));
            case RESET ->
                    "cid "
                            + ControlMessage.resetCid(m, at)
                            + "/"
                            + ControlMessage.resetEpoch(m, at)
                            + " "
                            + ResetReason.of(ControlMessage.resetReason(m, at))
                            + " incarnation "
                            + hex(ControlMessage.resetIncarnation(m, at) & 0xFFFF_FFFFL);
            case DISCONNECT ->
                    "endpoint "
                            + hex(ControlMessage.disconnectEndpointId(m, at))
                            + " connection "
                            + hex(ControlMessage.disconnectConnectionId(m, at))
                            + (ControlMessage.disconnectFromDialer(m, at)
                                    ? " from dialer"
                                    : " from acceptor");
            case DISCONNECT_ACK -> "ended";
        };
    }

    private static String request(PacketMemory m, int at) {
        RequestFields f = new RequestFields();
        f.read(m, at);
        return "endpoint "
                + hex(f.endpointId)
                + " connection "
                + hex(f.connectionId)
                + " service "
                + hex(f.serviceId)
                + " src "
                + f.srcCtx
                + " mtu "
                + f.mtu
                + " profiles "
                + hex(f.profileMask)
                + " paths "
                + f.maxPaths
                + " versions "
                + hex(f.versionMask)
                + " demand "
                + f.demandKib
                + "KiB priority "
                + f.priority
                + " flags "
                + hex(f.flags)
                + " private "
                + f.privateLength
                + (EarlyMessage.isIn(m, at) ? early(m, at + EarlyMessage.AT) : "");
    }

    private static String early(PacketMemory m, int image) {
        return " early "
                + Opcode.of(CommonHeader.opcode(m, image))
                + " stream "
                + CommonHeader.stream(m, image)
                + " bytes "
                + DataHeader.length(m, image);
    }

    private static String grant(PacketMemory m, int at) {
        GrantFields f = new GrantFields();
        f.read(m, at);
        return "cid "
                + f.cid
                + "/"
                + f.epoch
                + " profile "
                + Profile.of(f.profile)
                + " paths "
                + f.paths
                + " psn "
                + Integer.toUnsignedString(f.initialPsn)
                + " mtu "
                + f.mtu
                + " window "
                + (f.windowKib == AckHeader.WINDOW_NONE ? "none" : f.windowKib + "KiB")
                + " quota "
                + f.quotaKib
                + "KiB/"
                + f.quotaTimeUs
                + "us idle "
                + f.idleTimeUs
                + "us hint "
                + PacketView.rateText(f.rateHint)
                + " #"
                + f.hintSeq
                + " open "
                + f.openMessages
                + " reads "
                + f.maxReads
                + " connection "
                + hex(f.connectionId)
                + " private "
                + f.privateLength
                + ((f.flags & GrantFields.FLAG_EARLY_DONE) == 0
                        ? ""
                        : " early done, load " + f.poolLoad);
    }

    private static String deny(PacketMemory m, int at) {
        return DenyReason.of(ControlMessage.denyReason(m, at))
                + " versions "
                + hex(ControlMessage.denyVersionMask(m, at))
                + " retry "
                + ControlMessage.denyRetryAfterUs(m, at)
                + "us cookie "
                + hex(ControlMessage.denyCookie(m, at))
                + (ControlMessage.denyEarlyDone(m, at) ? " early done" : "")
                + " private "
                + ControlMessage.denyPrivateLength(m, at);
    }

    private static String release(PacketMemory m, int at) {
        StringBuilder text = new StringBuilder("endpoint ");
        text.append(hex(ControlMessage.releaseEndpointId(m, at)));
        text.append(" src ").append(ControlMessage.releaseSrcCtx(m, at)).append(" final");
        for (int path = 0; path < ControlMessage.releasePathCount(m, at); path++) {
            int psn = ControlMessage.releaseFinalPsn(m, at, path);
            text.append(' ').append(Integer.toUnsignedString(psn));
        }
        return text.toString();
    }

    private static String lease(PacketMemory m, int at) {
        return "cid " + ControlMessage.leaseCid(m, at) + "/" + ControlMessage.leaseEpoch(m, at);
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }
}
