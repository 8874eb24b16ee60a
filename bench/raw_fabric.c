// What a message costs over a provider of libfabric without MPI: half a round trip between two processes by its
// reliable datagrams, as libfabric's own ping-pong does it. Short messages are injected.
// usage: raw_fabric SECONDS_PER_POINT PROVIDER[+fd] [BYTES...]; compile with -lfabric
//
// With +fd the completions have a descriptor to sleep on, as a library needs that burns no processor while it waits.
#include "raw_team.h"
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define BYTES_MAX (4L << 20)
#define ADDRESS_BYTES_MAX 256

struct directory {
    char address[2][ADDRESS_BYTES_MAX];
};

struct pingpong {
    int rank;
    long bytes, inject_bytes;
    char *out, *in;
    void *out_desc, *in_desc;
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t to;
    struct fi_context2 sending, receiving;
    int sent, received;
};

static void check(const char *call, long code) {
    if (code < 0) {
        fprintf(stderr, "raw_fabric: %s: %s\n", call, fi_strerror((int)-code));
        exit(1);
    }
}

static struct fi_info *offer(const char *provider) {
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider);
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info));
    return info;
}

static void *known(struct fid_domain *domain, char *memory, uint64_t access, uint64_t key) {
    struct fid_mr *mr;
    check("fi_mr_reg", fi_mr_reg(domain, memory, BYTES_MAX, access, 0, key, 0, &mr, NULL));
    return fi_mr_desc(mr);
}

static void open_endpoint(struct pingpong *p, const char *provider, int with_fd, struct directory *directory) {
    struct fi_info *info = offer(provider);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG, .wait_obj = with_fd ? FI_WAIT_FD : FI_WAIT_NONE};
    size_t address_bytes = ADDRESS_BYTES_MAX;
    check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("fi_domain", fi_domain(fabric, info, &domain, NULL));
    check("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
    check("fi_cq_open", fi_cq_open(domain, &cq_attr, &p->cq, NULL));
    check("fi_endpoint", fi_endpoint(domain, info, &p->ep, NULL));
    check("fi_ep_bind", fi_ep_bind(p->ep, &av->fid, 0));
    check("fi_ep_bind", fi_ep_bind(p->ep, &p->cq->fid, FI_SEND | FI_RECV));
    check("fi_enable", fi_enable(p->ep));
    if (info->domain_attr->mr_mode & FI_MR_LOCAL) {
        p->out_desc = known(domain, p->out, FI_SEND, 1);
        p->in_desc = known(domain, p->in, FI_RECV, 2);
    }
    p->inject_bytes = (long)info->tx_attr->inject_size;
    check("fi_getname", fi_getname(&p->ep->fid, directory->address[p->rank], &address_bytes));
    meet();
    if (fi_av_insert(av, directory->address[p->rank ^ 1], 1, &p->to, 0, NULL) != 1)
        check("fi_av_insert", -FI_EINVAL);
}

static void progress(struct pingpong *p) {
    struct fi_cq_msg_entry entry;
    ssize_t count = fi_cq_read(p->cq, &entry, 1);
    if (count == 1) {
        p->sent += entry.op_context == &p->sending;
        p->received += entry.op_context == &p->receiving;
    } else if (count != -FI_EAGAIN) {
        struct fi_cq_err_entry error = {0};
        fi_cq_readerr(p->cq, &error, 0);
        check("fi_cq_read", -error.err);
    }
}

static void post_receive(struct pingpong *p) {
    ssize_t code;
    while ((code = fi_recv(p->ep, p->in, BYTES_MAX, p->in_desc, FI_ADDR_UNSPEC, &p->receiving)) == -FI_EAGAIN)
        progress(p);
    check("fi_recv", code);
}

static void send_one(struct pingpong *p) {
    ssize_t code;
    if (p->bytes <= p->inject_bytes) {
        while ((code = fi_inject(p->ep, p->out, (size_t)p->bytes, p->to)) == -FI_EAGAIN)
            progress(p);
        return check("fi_inject", code);
    }
    while ((code = fi_send(p->ep, p->out, (size_t)p->bytes, p->out_desc, p->to, &p->sending)) == -FI_EAGAIN)
        progress(p);
    check("fi_send", code);
    while (!p->sent)
        progress(p);
    p->sent = 0;
}

static void receive_one(struct pingpong *p) {
    while (!p->received)
        progress(p);
    p->received = 0;
    post_receive(p);
}

static void pingpong_loop(void *arg, long iterations) {
    struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++) {
        if (p->rank == 0)
            send_one(p);
        receive_one(p);
        if (p->rank == 1)
            send_one(p);
    }
}

static void measure_size(const struct team *team, struct pingpong *p, long bytes, double budget) {
    p->bytes = bytes;
    struct summary round_trip = measure(team, pingpong_loop, p, budget);
    if (team->rank == 0)
        print_result("latency", bytes, (struct summary){round_trip.best / 2, round_trip.median / 2});
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: raw_fabric SECONDS_PER_POINT PROVIDER[+fd] [BYTES...]\n");
        return 2;
    }
    struct directory *directory = shared_mapping(sizeof *directory);
    struct team team = fork_team(2);
    struct pingpong p = {.rank = team.rank, .out = touched(BYTES_MAX, 1), .in = touched(BYTES_MAX, 2)};
    char *fd = strstr(argv[2], "+fd");
    if (fd)
        *fd = 0;
    open_endpoint(&p, argv[2], fd != NULL, directory);
    post_receive(&p);
    meet();
    for (int i = 3; i < argc; i++)
        measure_size(&team, &p, atol(argv[i]), atof(argv[1]));
    if (argc == 3)
        measure_size(&team, &p, 8, atof(argv[1]));
    meet();
    return 0;
}
