// The least that a message costs which two processes copy through memory that they share, one while the other writes:
// with one block for both directions (raw_cells_shared), and with a block for each (raw_cells_own). One-way times of a
// ping-pong.
// usage: raw_cells SECONDS_PER_POINT
#include "raw_team.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BYTES_MAX (1L << 20)
#define PIECE (12L << 10) // announced at once

struct channel {
    _Alignas(LINE) atomic_long written; // bytes since the start
};

struct exchange {
    struct channel *channels; // by sender
    char *blocks, *out, *in;
    int rank, own; // whether each direction has a block of its own
    long bytes, sent, received;
};

#if defined(__x86_64__)
// What memcpy leaves to one instruction is slower between cores.
__attribute__((target("avx"))) static void copy_by_vectors(char *to, const char *from, long bytes) {
    for (long at = 0; at < bytes; at += 128)
        for (int nth = 0; nth < 4; nth++) {
            __m256i vector = _mm256_loadu_si256((const __m256i *)(from + at) + nth);
            _mm256_storeu_si256((__m256i *)(to + at) + nth, vector);
        }
}
#endif

static void copy(char *to, const char *from, long bytes) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx") && bytes % 128 == 0) {
        copy_by_vectors(to, from, bytes);
        return;
    }
#endif
    memcpy(to, from, (size_t)bytes);
}

static char *block_of(const struct exchange *e, int sender) {
    return e->blocks + (e->own ? sender * BYTES_MAX : 0);
}

static void send_message(struct exchange *e) {
    char *block = block_of(e, e->rank);
    for (long at = 0; at < e->bytes; at += PIECE) {
        long bytes = e->bytes - at < PIECE ? e->bytes - at : PIECE;
        copy(block + at, e->out + at, bytes);
        e->sent += bytes;
        atomic_store_explicit(&e->channels[e->rank].written, e->sent, memory_order_release);
    }
}

static void receive_message(struct exchange *e) {
    const char *block = block_of(e, 1 - e->rank);
    for (long at = 0; at < e->bytes;) {
        long written;
        while ((written = atomic_load_explicit(&e->channels[1 - e->rank].written, memory_order_acquire)) == e->received)
            pause_cpu();
        copy(e->in + at, block + at, written - e->received);
        at += written - e->received;
        e->received = written;
    }
}

static void pingpong_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < iterations; i++)
        if (e->rank == 0) {
            send_message(e);
            receive_message(e);
        } else {
            receive_message(e);
            send_message(e);
        }
}

int main(int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    struct channel *channels = shared_mapping(2 * sizeof *channels);
    char *blocks = shared_mapping(2 * BYTES_MAX);
    struct team team = fork_team(2);
    pin(team.rank);
    struct exchange e = {channels, blocks, touched(BYTES_MAX, 1), touched(BYTES_MAX, 2), team.rank, 0, 0, 0, 0};
    for (e.own = 0; e.own <= 1; e.own++)
        for (e.bytes = 4 << 10; e.bytes <= BYTES_MAX; e.bytes *= 2) {
            struct summary s = measure(&team, pingpong_loop, &e, budget);
            if (team.rank == 0)
                print_result(e.own ? "raw_cells_own" : "raw_cells_shared", e.bytes,
                             (struct summary){s.best / 2, s.median / 2});
        }
    end_team();
    return 0;
}
