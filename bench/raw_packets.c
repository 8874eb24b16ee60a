// Whether a provider of libfabric delivers each packet once, and in order. Every process sends numbered packets to
// every other one, and counts what is lost, comes twice, or comes out of order. A process has so many sends under way,
// and sleeps when nothing has happened for a while. Several of these at once, beside other load, show what is rare.
// usage: raw_packets PROVIDER PROCESSES PACKETS [RECEIVES [SENDS [BYTES]]]; compile with -lfabric
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64
#define SLOTS_MAX 64
#define PACKET_BYTES 16384
#define SILENCE_S 20
#define IDLE_MAX 20

struct common {
    char address[PROCESSES_MAX][64];
    size_t address_bytes[PROCESSES_MAX];
    atomic_int opened, finished;
};

struct packet {
    int from, number;
};

struct process {
    int me, count, packets, receives, sends, bytes;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    fi_addr_t to[PROCESSES_MAX];
    struct fi_context *send_context, *receive_context;
    char *send_slot, *receive_slot;
    int free[SLOTS_MAX], free_count;
    int sent[PROCESSES_MAX], next[PROCESSES_MAX];
    char *seen[PROCESSES_MAX];
    long received, twice, out_of_order, failed;
};

static void check(const char *call, long code) {
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-code));
        exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void open_endpoint(struct process *p, const char *provider) {
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode = 0;
    hints->fabric_attr->prov_name = strdup(provider);
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info));
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
    check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("fi_domain", fi_domain(fabric, info, &domain, NULL));
    check("fi_av_open", fi_av_open(domain, &av, &p->av, NULL));
    check("fi_cq_open", fi_cq_open(domain, &cq, &p->cq, NULL));
    check("fi_endpoint", fi_endpoint(domain, info, &p->ep, NULL));
    check("fi_ep_bind", fi_ep_bind(p->ep, &p->av->fid, 0));
    check("fi_ep_bind", fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV));
    check("fi_enable", fi_enable(p->ep));
    if (info->rx_attr->size < (size_t)p->receives)
        fprintf(stderr, "%d receives of %zu that the provider has\n", p->receives, info->rx_attr->size);
}

static void post(struct process *p, int slot) {
    char *start = p->receive_slot + (size_t)slot * PACKET_BYTES;
    check("fi_recv", fi_recv(p->ep, start, PACKET_BYTES, NULL, FI_ADDR_UNSPEC, &p->receive_context[slot]));
}

static void meet(struct process *p, struct common *common) {
    size_t bytes = sizeof common->address[0];
    check("fi_getname", fi_getname(&p->ep->fid, common->address[p->me], &bytes));
    atomic_fetch_add(&common->opened, 1);
    while (atomic_load(&common->opened) < p->count)
        usleep(1000);
    for (int peer = 0; peer < p->count; peer++)
        if (fi_av_insert(p->av, common->address[peer], 1, &p->to[peer], 0, NULL) != 1)
            check("fi_av_insert", -FI_EINVAL);
}

static void take(struct process *p, const struct packet *packet) {
    char *seen = &p->seen[packet->from][packet->number];
    p->twice += *seen;
    p->received += !*seen;
    *seen = 1;
    p->out_of_order += packet->number < p->next[packet->from];
    p->next[packet->from] = packet->number + 1;
}

static int poll_queue(struct process *p) {
    struct fi_cq_msg_entry entry[16];
    long count = fi_cq_read(p->cq, entry, 16);
    if (count == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        fi_cq_readerr(p->cq, &error, 0);
        fprintf(stderr, "%d: a completion fails: %s\n", p->me, fi_strerror(error.err));
        p->failed++;
        return 1;
    }
    if (count == -FI_EAGAIN)
        return 0;
    check("fi_cq_read", count);
    for (long nth = 0; nth < count; nth++) {
        struct fi_context *context = entry[nth].op_context;
        if (context >= p->send_context && context < p->send_context + p->sends) {
            p->free[p->free_count++] = (int)(context - p->send_context);
        } else {
            int slot = (int)(context - p->receive_context);
            take(p, (struct packet *)(p->receive_slot + (size_t)slot * PACKET_BYTES));
            post(p, slot);
        }
    }
    return 1;
}

static int send_next(struct process *p, int peer) {
    if (peer == p->me || p->sent[peer] == p->packets || p->free_count == 0)
        return 0;
    int slot = p->free[p->free_count - 1];
    struct packet *packet = (struct packet *)(p->send_slot + (size_t)slot * PACKET_BYTES);
    *packet = (struct packet){p->me, p->sent[peer]};
    size_t bytes = sizeof *packet + rand() % (p->bytes - sizeof *packet);
    long code = fi_send(p->ep, packet, bytes, NULL, p->to[peer], &p->send_context[slot]);
    if (code == -FI_EAGAIN)
        return 0;
    check("fi_send", code);
    p->free_count--;
    p->sent[peer]++;
    return 1;
}

static int exchange(struct process *p, struct common *common) {
    long all = (long)p->packets * (p->count - 1);
    double last = now();
    int told = 0, idle = 0;
    // Who is through goes on polling, since the provider answers others only then.
    while (atomic_load(&common->finished) < p->count && now() - last < SILENCE_S) {
        int any = poll_queue(p), unsent = 0;
        for (int nth = 1; nth < p->count; nth++) {
            int peer = (p->me + nth) % p->count;
            any |= send_next(p, peer);
            unsent += p->sent[peer] < p->packets;
        }
        idle = any ? 0 : idle + 1;
        if (idle > IDLE_MAX)
            usleep(1000);
        if (any)
            last = now();
        if (!told && p->received == all && !unsent && p->free_count == p->sends) {
            atomic_fetch_add(&common->finished, 1);
            told = 1;
        }
    }
    if (p->twice + p->out_of_order + p->failed > 0 || p->received < all)
        printf("process %d: %ld of %ld packets, %ld twice, %ld out of order, %ld failed, %d sends without an end\n",
               p->me, p->received, all, p->twice, p->out_of_order, p->failed, p->sends - p->free_count);
    return p->received < all || p->twice > 0 || p->out_of_order > 0 || p->failed > 0;
}

static int run(struct process *p, const char *provider, struct common *common) {
    p->send_context = calloc(p->sends, sizeof *p->send_context);
    p->receive_context = calloc(p->receives, sizeof *p->receive_context);
    p->send_slot = calloc(p->sends, PACKET_BYTES);
    p->receive_slot = calloc(p->receives, PACKET_BYTES);
    for (int peer = 0; peer < p->count; peer++)
        p->seen[peer] = calloc(p->packets, 1);
    for (p->free_count = 0; p->free_count < p->sends; p->free_count++)
        p->free[p->free_count] = p->free_count;
    open_endpoint(p, provider);
    for (int slot = 0; slot < p->receives; slot++)
        post(p, slot);
    meet(p, common);
    int bad = exchange(p, common);
    fflush(stdout);
    return bad;
}

static int number(int argc, char **argv, int at, int otherwise) {
    return argc > at ? atoi(argv[at]) : otherwise;
}

int main(int argc, char **argv) {
    struct process p = {.count = number(argc, argv, 2, 0), .packets = number(argc, argv, 3, 0)};
    p.receives = number(argc, argv, 4, 256);
    p.sends = number(argc, argv, 5, SLOTS_MAX);
    p.bytes = number(argc, argv, 6, PACKET_BYTES);
    if (p.count < 2 || p.count > PROCESSES_MAX || p.packets < 1 || p.receives < 1 || p.sends < 1 ||
        p.sends > SLOTS_MAX || p.bytes <= (int)sizeof(struct packet) || p.bytes > PACKET_BYTES) {
        fprintf(stderr, "usage: raw_packets PROVIDER PROCESSES PACKETS [RECEIVES [SENDS [BYTES]]]\n");
        return 2;
    }
    struct common *common =
        mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (p.me = 0; p.me < p.count; p.me++)
        if (fork() == 0)
            _exit(run(&p, argv[1], common));
    int bad = 0, status;
    for (int me = 0; me < p.count; me++)
        bad += wait(&status) > 0 && status != 0;
    printf("%s, %d processes, %d packets each to each, %d receives: %s\n", argv[1], p.count, p.packets, p.receives,
           bad ? "NOT all came once and in order" : "all came once and in order");
    return bad > 0;
}
