// The least that a large message costs: the receiver copies it out of the sender's memory with
// process_vm_readv, alone (raw_copy_one), or both sides claim chunks of it from one counter and copy at
// the same time, the sender with process_vm_writev (raw_copy_both). One-way times of a ping-pong.
// usage: raw_copy SECONDS_PER_POINT
#include "raw_team.h"
#include <sys/uio.h>

#define BYTES_MAX (4L << 20)
#define CHUNK (32L << 10)

struct channel {
    _Alignas(LINE) atomic_ulong posted; // number of the message that the sender offers
    _Alignas(LINE) atomic_long claimed; // bytes that somebody has taken to copy
    _Alignas(LINE) atomic_long copied;
    _Alignas(LINE) atomic_ulong done; // number of the last message that is complete
};

struct shared {
    struct channel channels[2]; // by sender
    pid_t pids[2];
    char *in[2], *out[2];
};

struct copy {
    struct shared *shared;
    int rank, both;
    long bytes;
    unsigned long message;
};

static void move(struct copy *c, int sender, long offset, long bytes) {
    struct shared *s = c->shared;
    int sending = c->rank == sender;
    struct iovec local = {(sending ? s->out[c->rank] : s->in[c->rank]) + offset, (size_t)bytes};
    struct iovec remote = {(sending ? s->in[1 - c->rank] : s->out[1 - c->rank]) + offset, (size_t)bytes};
    pid_t peer = s->pids[1 - c->rank];
    ssize_t moved = sending ? process_vm_writev(peer, &local, 1, &remote, 1, 0)
                            : process_vm_readv(peer, &local, 1, &remote, 1, 0);
    if (moved != bytes) {
        perror("process_vm_readv/writev");
        kill(0, SIGTERM);
        _exit(1);
    }
}

static void claim_chunks(struct copy *c, struct channel *ch, int sender) {
    for (;;) {
        long offset = atomic_fetch_add(&ch->claimed, CHUNK);
        if (offset >= c->bytes)
            return;
        long bytes = c->bytes - offset < CHUNK ? c->bytes - offset : CHUNK;
        move(c, sender, offset, bytes);
        atomic_fetch_add(&ch->copied, bytes);
    }
}

static void send_message(struct copy *c) {
    struct channel *ch = &c->shared->channels[c->rank];
    atomic_store(&ch->copied, 0);
    atomic_store(&ch->claimed, 0);
    atomic_store(&ch->posted, c->message);
    if (c->both)
        claim_chunks(c, ch, c->rank);
    while (atomic_load(&ch->done) != c->message)
        pause_cpu();
}

static void receive_message(struct copy *c) {
    int sender = 1 - c->rank;
    struct channel *ch = &c->shared->channels[sender];
    while (atomic_load(&ch->posted) != c->message)
        pause_cpu();
    if (c->both) {
        claim_chunks(c, ch, sender);
        while (atomic_load(&ch->copied) != c->bytes)
            pause_cpu();
    } else {
        move(c, sender, 0, c->bytes);
    }
    atomic_store(&ch->done, c->message);
}

static void pingpong_loop(void *arg, long iterations) {
    struct copy *c = arg;
    for (long i = 0; i < iterations; i++) {
        c->message++;
        if (c->rank == 0) {
            send_message(c);
            receive_message(c);
        } else {
            receive_message(c);
            send_message(c);
        }
    }
}

static void measure_copy(const struct team *team, struct copy *c, double budget) {
    struct summary s = measure(team, pingpong_loop, c, budget);
    if (team->rank == 0)
        print_result(c->both ? "raw_copy_both" : "raw_copy_one", c->bytes, (struct summary){s.best / 2, s.median / 2});
}

int main(int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    setpgid(0, 0);
    struct shared *shared = shared_mapping(sizeof *shared);
    struct team team = fork_team(2);
    pin(team.rank);
    shared->pids[team.rank] = getpid();
    shared->in[team.rank] = touched_pages(BYTES_MAX, 1);
    shared->out[team.rank] = touched_pages(BYTES_MAX, 2);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    struct copy copy = {shared, team.rank, 0, 0, 0};
    meet();
    for (copy.bytes = 16 << 10; copy.bytes <= BYTES_MAX; copy.bytes *= 2)
        for (copy.both = 0; copy.both <= 1; copy.both++)
            measure_copy(&team, &copy, budget);
    end_team();
    return 0;
}
