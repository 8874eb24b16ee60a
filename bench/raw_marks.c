// What the mark of a call costs a synchronization of two processes: each raises a flag of its own and waits for the
// other's, in two halves in turn. The flag is a count alone, a count and a mark by two stores, or both by one store of
// 16 bytes; without data, or with 64 bytes in a line of their own, which each adds up.
// usage: raw_marks SECONDS_PER_POINT
#include "raw_team.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define MARK 0x1234567800000040ul

struct line {
    _Alignas(LINE) atomic_ulong count;
    atomic_ulong mark;
};

struct data {
    _Alignas(LINE) unsigned long words[8];
};

struct shared {
    struct line flags[2][2];
    struct data data[4][2];
};

enum form { COUNT, TWO_STORES, ONE_STORE };

struct sync {
    struct shared *shared;
    int rank;
    enum form form;
    int with_data;
    unsigned long turn;
    unsigned long in[8], out[8];
};

static void raise_flag(struct line *flag, unsigned long count, enum form form) {
#if defined(__SSE2__)
    if (form == ONE_STORE) {
        atomic_signal_fence(memory_order_release);
        _mm_store_si128((__m128i *)flag, _mm_set_epi64x((long)MARK, (long)count));
        return;
    }
#endif
    if (form != COUNT)
        atomic_store_explicit(&flag->mark, MARK, memory_order_relaxed);
    atomic_store_explicit(&flag->count, count, memory_order_release);
}

static void wait_for(struct line *flag, unsigned long count, enum form form) {
    while (atomic_load_explicit(&flag->count, memory_order_acquire) != count)
        pause_cpu();
    if (form != COUNT && atomic_load_explicit(&flag->mark, memory_order_relaxed) != MARK)
        abort();
}

static inline void cross(struct sync *s, enum form form, int with_data) {
    unsigned long turn = ++s->turn;
    struct line *flags = s->shared->flags[turn % 2];
    struct data *data = s->shared->data[turn % 4];
    if (with_data)
        memcpy(data[s->rank].words, s->in, sizeof s->in);
    raise_flag(&flags[s->rank], turn, form);
    wait_for(&flags[1 - s->rank], turn, form);
    if (with_data)
        for (int i = 0; i < 8; i++)
            s->out[i] = data[0].words[i] + data[1].words[i];
}

static void sync_loop(void *arg, long iterations) {
    struct sync *s = arg;
    for (long i = 0; i < iterations; i++)
        switch (s->form * 2 + s->with_data) {
        case 0: cross(s, COUNT, 0); break;
        case 1: cross(s, COUNT, 1); break;
        case 2: cross(s, TWO_STORES, 0); break;
        case 3: cross(s, TWO_STORES, 1); break;
        case 4: cross(s, ONE_STORE, 0); break;
        default: cross(s, ONE_STORE, 1); break;
        }
}

int main(int argc, char **argv) {
    static const char *const names[] = {"raw_sync_count", "raw_sync_two_stores", "raw_sync_one_store"};
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    struct shared *shared = shared_mapping(sizeof *shared);
    struct team team = fork_team(2);
    pin(team.rank);
    struct sync sync = {.shared = shared, .rank = team.rank};
    for (int with_data = 0; with_data < 2; with_data++)
        for (enum form form = COUNT; form <= ONE_STORE; form++) {
            sync.form = form;
            sync.with_data = with_data;
            struct summary s = measure(&team, sync_loop, &sync, budget);
            if (team.rank == 0)
                print_result(names[form], with_data * 64, s);
        }
    end_team();
    return 0;
}
