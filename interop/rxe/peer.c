/*
 * The other end of a test with known data, which no tool has: speaks perftest's exchange over TCP
 * (port 18515) and then verbs.
 *
 *   peer GID_INDEX hold BYTES        server: says whether its memory holds the test data of perf
 *   peer GID_INDEX echo              server: is read, and answers each message by one of its kind
 *   peer GID_INDEX check SERVER      client: WRITEs, READs and atomics, and compares what comes back
 *
 * Exit code 0 when all was as it has to be.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 18515, KEYS = 108, MEMORY = 1 << 20, HALF = MEMORY / 2, MTU = 1024 };

/* Where the echo has what; its client (class Echo) knows. A message is no longer than ROOM_BYTES. */
enum { REPLY = 1 << 18, ROOM = HALF, ROOM_BYTES = 1 << 16, WORD = MEMORY - 64, KEY = WORD + 32,
       DOOR = WORD + 48, IN_MEMORY = 1000 };

struct end {
    unsigned qpn, psn, rkey;
    unsigned long long address;
    union ibv_gid gid;
};

static unsigned char *memory;
static struct ibv_mr *region;
static struct ibv_cq *completions, *received;
static struct ibv_qp *pair;
static struct end mine, theirs;
static int tcp;

static void expect(int holds, const char *what) {
    if (!holds) {
        printf("WRONG: %s\n", what);
        exit(1);
    }
}

/* ---- perftest's exchange ---- */

static void take(char *bytes, int count) {
    expect(recv(tcp, bytes, count, MSG_WAITALL) == count, "the other end is gone");
}

static void give(const char *bytes, int count) {
    expect(write(tcp, bytes, count) == count, "the other end is gone");
}

static void keys_of(char *text) {
    int at = sprintf(text, "0000:0010:%06x:%06x:%08x:%016llx:", mine.qpn, mine.psn, mine.rkey,
                     mine.address);
    for (int i = 0; i < 16; i++)
        at += sprintf(text + at, "%02x:", mine.gid.raw[i]);
    sprintf(text + at, "%08x:", 0);
}

static void read_keys(const char *text) {
    int at = 0;
    expect(sscanf(text, "0000:%*x:%x:%x:%x:%llx:%n", &theirs.qpn, &theirs.psn, &theirs.rkey,
                  &theirs.address, &at) == 4, "these are no keys");
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        expect(sscanf(text + at + 3 * i, "%2x", &byte) == 1, "these are no keys");
        theirs.gid.raw[i] = byte;
    }
}

/* One message each; the client speaks first. */
static void turn(int client, const char *said, char *heard, int count) {
    if (client)
        give(said, count);
    take(heard, count);
    if (!client)
        give(said, count);
}

static void ask_keys(int client) {
    char said[KEYS + 1], heard[KEYS + 1] = "";
    keys_of(said);
    turn(client, said, heard, KEYS);
    read_keys(heard);
}

static void meet(int client) {
    char version[16] = "6.06", heard[16];
    turn(client, version, heard, sizeof version);
    turn(client, "\0\0\x10\0", heard, 4);
    turn(client, "\0\0\0\x40", heard, 4);
    turn(client, "3", heard, 2);
    ask_keys(client);
}

/* ---- verbs ---- */

static void open_device(int gid_index, int client) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
    expect(context != NULL, "there is no RDMA device");
    struct ibv_pd *domain = ibv_alloc_pd(context);
    int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                 IBV_ACCESS_REMOTE_ATOMIC;
    int all = rights | IBV_ACCESS_MW_BIND;
    memory = aligned_alloc(4096, MEMORY);
    memset(memory, 0, MEMORY);
    completions = ibv_create_cq(context, 64, NULL, NULL, 0);
    received = ibv_create_cq(context, 64, NULL, NULL, 0);
    region = ibv_reg_mr(domain, memory, MEMORY, all);
    struct ibv_qp_init_attr made = {.send_cq = completions, .recv_cq = received,
                                    .cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    pair = ibv_create_qp(domain, &made);
    expect(region && pair, "no memory region or queue pair");
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights};
    expect(!ibv_modify_qp(pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                          IBV_QP_ACCESS_FLAGS), "to INIT");
    mine.qpn = pair->qp_num;
    mine.psn = client ? 0xfffff0 : 0x7ffff0; /* the first wraps soon */
    mine.rkey = region->rkey;
    mine.address = (unsigned long long) (unsigned long) memory;
    expect(!ibv_query_gid(context, 1, gid_index, &mine.gid), "no such GID");
}

static void connect_pair(int gid_index) {
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = theirs.qpn,
        .rq_psn = theirs.psn, .max_dest_rd_atomic = 16, .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = theirs.gid,
                    .sgid_index = gid_index, .hop_limit = 64}}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = mine.psn, .timeout = 16,
                              .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
    expect(!ibv_modify_qp(pair, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                          IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                          IBV_QP_MIN_RNR_TIMER), "to RTR");
    expect(!ibv_modify_qp(pair, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                          IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

static struct ibv_wc await(struct ibv_cq *queue) {
    struct ibv_wc done;
    int count;
    while ((count = ibv_poll_cq(queue, 1, &done)) == 0)
        ;
    expect(count == 1, "a poll");
    return done;
}

/* Does one thing between local memory and the other end's, and waits for it. */
static enum ibv_wc_status post(struct ibv_send_wr *request, long local, long remote, int bytes) {
    struct ibv_sge piece = {(unsigned long) memory + local, bytes, region->lkey};
    struct ibv_send_wr *bad;
    request->sg_list = &piece;
    request->num_sge = bytes > 0;
    request->send_flags = IBV_SEND_SIGNALED;
    if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
        request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        request->wr.atomic.remote_addr = theirs.address + remote;
        request->wr.atomic.rkey = theirs.rkey;
    } else {
        request->wr.rdma.remote_addr = theirs.address + remote;
        request->wr.rdma.rkey = theirs.rkey;
    }
    expect(!ibv_post_send(pair, request, &bad), "a post");
    return await(completions).status;
}

static void post_well(struct ibv_send_wr *request, long local, long remote, int bytes) {
    enum ibv_wc_status status = post(request, local, remote, bytes);
    expect(status == IBV_WC_SUCCESS, ibv_wc_status_str(status));
}

static void move(enum ibv_wr_opcode opcode, long local, long remote, int bytes) {
    struct ibv_send_wr request = {.opcode = opcode};
    post_well(&request, local, remote, bytes);
}

/* ---- the client ---- */

static void there_and_back(long remote, int bytes) {
    for (int i = 0; i < bytes; i++)
        memory[i] = (i + bytes) * 31 >> 3;
    memset(memory + HALF, 0, bytes);
    move(IBV_WR_RDMA_WRITE, 0, remote, bytes);
    move(IBV_WR_RDMA_READ, HALF, remote, bytes);
    expect(!memcmp(memory, memory + HALF, bytes), "what was written is not what is read");
}

/* Result of an atomic on the first word of the other end. */
static unsigned long long atomic(enum ibv_wr_opcode opcode, unsigned long long operand,
                                 unsigned long long swap) {
    struct ibv_send_wr request = {.opcode = opcode};
    request.wr.atomic.compare_add = operand;
    request.wr.atomic.swap = swap;
    post_well(&request, HALF, 0, 8);
    return *(unsigned long long *) (memory + HALF);
}

static void check(void) {
    static const int sizes[] = {1, 3, 64, MTU - 1, MTU, MTU + 1, 2 * MTU, 5000, 60000, 65536};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        there_and_back(0, sizes[i]);
    there_and_back(17, 3000);
    move(IBV_WR_RDMA_WRITE, 0, 0, 0);
    move(IBV_WR_RDMA_READ, 0, 0, 0);

    *(unsigned long long *) memory = 40;
    move(IBV_WR_RDMA_WRITE, 0, 0, 8);
    expect(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0) == 40, "the sum's value before");
    expect(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 7) == 42, "the swapped value");
    expect(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 9) == 7, "the value that was not swapped");
    move(IBV_WR_RDMA_READ, HALF, 0, 8);
    expect(*(unsigned long long *) (memory + HALF) == 7, "the value in the end");
}

/* Last: the queue pair is of no use afterwards. */
static void check_refusal(void) {
    struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE};
    theirs.rkey ^= 0x5a5a;
    expect(post(&request, 0, 0, 100) == IBV_WC_REM_ACCESS_ERR, "a wrong key is not refused");
}

static void say_goodbye(void) {
    char heard[8];
    double figures[5] = {0};
    ask_keys(1);
    for (int i = 0; i < 5; i++)
        turn(1, (char *) &figures[i], heard, 8);
    ask_keys(1);
    turn(1, "done", heard, 5);
}

/* ---- the server ---- */

/* Answers until the client is done. */
static void answer(void) {
    char heard[KEYS + 1] = "", said[KEYS + 1];
    keys_of(said);
    while (1) {
        take(heard, 1);
        int count = heard[0] == '0' ? KEYS : heard[0] == 'd' ? 5 : 8;
        take(heard + 1, count - 1);
        give(count == KEYS ? said : heard, count);
        if (count == 5)
            return;
    }
}

/* The test data of metaroce perf with seed 1 (class Pattern). */
static unsigned char pattern(unsigned long long i) {
    unsigned long long z = (1 + (i & ~7ull)) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) | 0x0101010101010101ull;
    return z >> i % 8 * 8;
}

/* ---- the echo ---- */

/* Byte i of a message; no byte is 0. */
static unsigned char data(unsigned message, unsigned i) {
    return (i * 2654435761u + message * 40503u) >> 24 | 1;
}

static void fill(long at, unsigned message, int bytes) {
    for (int i = 0; i < bytes; i++)
        memory[at + i] = data(message, i);
}

static void listen_once(void) {
    struct ibv_sge piece = {(unsigned long) memory + ROOM, ROOM_BYTES, region->lkey};
    struct ibv_recv_wr receive = {.sg_list = &piece, .num_sge = 1}, *bad;
    expect(!ibv_post_recv(pair, &receive, &bad), "a receive");
}

/* How often the device said that there is no receive. */
static long not_ready(void) {
    long count = -1;
    FILE *counter = fopen("/sys/class/infiniband/rxe0/ports/1/hw_counters/send_rnr_err", "r");
    expect(counter && fscanf(counter, "%ld", &count) == 1, "the device does not count RNRs");
    fclose(counter);
    return count;
}

/* Key for one byte of memory, which a SEND can take back. */
static unsigned bind_window(void) {
    struct ibv_mw *window = ibv_alloc_mw(region->pd, IBV_MW_TYPE_2);
    expect(window != NULL, "no memory window");
    struct ibv_send_wr request = {
        .opcode = IBV_WR_BIND_MW,
        .bind_mw = {.mw = window, .rkey = ibv_inc_rkey(window->rkey),
                    .bind_info = {.mr = region, .addr = (unsigned long) memory + DOOR,
                                  .length = 1, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}}};
    post_well(&request, 0, 0, 0);
    return request.bind_mw.rkey;
}

/* Answers by a message of the same kind and length. */
static void reply(unsigned message, struct ibv_wc *to) {
    struct ibv_send_wr request = {.opcode = to->opcode == IBV_WC_RECV_RDMA_WITH_IMM
                                      ? IBV_WR_RDMA_WRITE_WITH_IMM
                                      : to->wc_flags & IBV_WC_WITH_IMM ? IBV_WR_SEND_WITH_IMM
                                                                       : IBV_WR_SEND,
                                  .imm_data = htonl(~message)};
    fill(REPLY, ~message, to->byte_len);
    post_well(&request, REPLY, 0, to->byte_len);
}

/* rxe gives the kernel's flag to programs, which is another one there. */
enum { TAKES_KEY = IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK };

/* Until one comes that takes the window's key back. Every other one finds no receive at first. */
static void echo(unsigned key) {
    struct ibv_wc came;
    for (unsigned message = 0;; message++) {
        came = await(received);
        expect(came.status == IBV_WC_SUCCESS, ibv_wc_status_str(came.status));
        if (came.wc_flags & TAKES_KEY)
            break;
        expect(!(came.wc_flags & IBV_WC_WITH_IMM) || ntohl(came.imm_data) == message,
               "an immediate");
        for (unsigned i = 0; i < came.byte_len; i++)
            expect(memory[ROOM + i] == data(message, i), "what came is not what was sent");
        expect(!memory[ROOM + came.byte_len], "more came than was sent");
        memset(memory + ROOM, 0, ROOM_BYTES);
        long before = not_ready();
        if (message % 2)
            listen_once();
        reply(message, &came);
        if (message % 2 == 0) {
            while (not_ready() == before)
                ;
            listen_once();
        }
    }
    expect(came.invalidated_rkey == key, "another key was taken back");
    struct ibv_send_wr request = {.opcode = IBV_WR_SEND_WITH_INV};
    request.invalidate_rkey = ntohl(*(unsigned *) (memory + ROOM));
    post_well(&request, 0, 0, 0);
}

static void serve_echo(void) {
    unsigned key = bind_window();
    unsigned long long *word = (void *) (memory + WORD);
    fill(0, IN_MEMORY, ROOM_BYTES);
    *(unsigned *) (memory + KEY) = htonl(key);
    listen_once();
    for (int turns = 0; turns < 2; turns++)
        ask_keys(0);
    echo(key);
    char heard[8];
    for (int turns = 0; turns < 3; turns++)
        ask_keys(0);
    turn(0, "done", heard, 5);
    expect(word[0] == 7 && !word[1], "the word that atomics changed");
    expect(memory[DOOR] == 1, "the byte of the window");
}

int main(int count, char **words) {
    setlinebuf(stdout);
    int echoes = count == 3 && !strcmp(words[2], "echo");
    expect(count == 4 || echoes, "usage: peer GID_INDEX hold BYTES | echo | check SERVER");
    int gid_index = atoi(words[1]), client = !strcmp(words[2], "check"), yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    open_device(gid_index, client);
    tcp = socket(AF_INET, SOCK_STREAM, 0);
    if (client) {
        expect(inet_aton(words[3], &at.sin_addr), "this is no IPv4 address");
        expect(!connect(tcp, (void *) &at, sizeof at), "nobody listens there");
    } else {
        int listener = tcp;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        expect(!bind(listener, (void *) &at, sizeof at) && !listen(listener, 1), "cannot listen");
        printf("listening\n");
        tcp = accept(listener, NULL, NULL);
    }
    meet(client);
    connect_pair(gid_index);
    if (client) {
        ask_keys(1);
        ask_keys(1);
        check();
        check_refusal();
        say_goodbye();
    } else if (echoes) {
        serve_echo();
    } else {
        long bytes = atol(words[3]);
        expect(bytes > 0 && bytes <= MEMORY, "BYTES is not in 1..1048576");
        answer();
        for (long i = 0; i < bytes; i++)
            expect(memory[i] == pattern(i), "memory does not hold the test data");
    }
    printf("all as it has to be\n");
    return 0;
}
