// Particles that move on a ring of slabs: each step all move, and those that have left a slab go to the next rank or
// the one before, in messages whose length only the sender knows. usage: particles SECONDS
#include "apps.h"

#define PARTICLES 20000 // of a rank, at first

struct particle {
    double place, speed, weight, other[5];
};

struct slab {
    int rank, ranks, count, room, leaving_room;
    struct particle *all, *leaving[2];
};

static void *grown(void *memory, int particles) {
    void *more = realloc(memory, sizeof(struct particle) * (size_t)particles);
    if (more == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return more;
}

// The number of those that leave downwards, and upwards.
static void move(struct slab *s, int left[2]) {
    if (s->count > s->leaving_room) {
        s->leaving_room = 2 * s->count;
        for (int side = 0; side < 2; side++)
            s->leaving[side] = grown(s->leaving[side], s->leaving_room);
    }
    left[0] = left[1] = 0;
    int kept = 0;
    for (int i = 0; i < s->count; i++) {
        struct particle p = s->all[i];
        p.place += p.speed;
        if (p.place >= s->rank && p.place < s->rank + 1) {
            s->all[kept++] = p;
            continue;
        }
        int side = p.place >= s->rank + 1;
        p.place = fmod(p.place + s->ranks, s->ranks);
        s->leaving[side][left[side]++] = p;
    }
    s->count = kept;
}

static void take_from(struct slab *s, int from, int tag) {
    MPI_Status status;
    int bytes;
    MPI_Probe(from, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    int came = bytes / (int)sizeof(struct particle);
    if (s->count + came > s->room) {
        s->room = 2 * (s->count + came);
        s->all = grown(s->all, s->room);
    }
    MPI_Recv(s->all + s->count, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    s->count += came;
}

static void steps(void *arg, long count) {
    struct slab *s = arg;
    int before = (s->rank + s->ranks - 1) % s->ranks, after = (s->rank + 1) % s->ranks, left[2];
    for (long i = 0; i < count; i++) {
        MPI_Request sends[2];
        move(s, left);
        for (int side = 0; side < 2; side++)
            MPI_Isend(s->leaving[side], left[side] * (int)sizeof(struct particle), MPI_BYTE, side ? after : before,
                      side, MPI_COMM_WORLD, &sends[side]);
        take_from(s, after, 0);
        take_from(s, before, 1);
        MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    }
}

static double total_weight(const struct slab *s) {
    double sum = 0;
    for (int i = 0; i < s->count; i++)
        sum += s->all[i].weight;
    return sum_of_all(sum);
}

// A place or speed from 0 to 1.
static double part(uint64_t seed) {
    return (double)(hashed(seed) >> 11) / (double)(1L << 53);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct slab s = {.ranks = world_size(), .count = PARTICLES, .room = 2 * PARTICLES};
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    s.all = grown(NULL, s.room);
    for (int i = 0; i < PARTICLES; i++) {
        uint64_t seed = 2 * ((uint64_t)s.rank * PARTICLES + (uint64_t)i);
        double speed = (part(seed + 1) - 0.5) / 10;
        s.all[i] = (struct particle){.place = s.rank + part(seed), .speed = speed, .weight = 1 + i % 7};
    }
    double before = total_weight(&s);
    measure_steps("app_particles", steps, &s, budget_of(argc, argv));
    demand(total_weight(&s) == before, "particles");
    MPI_Finalize();
    return 0;
}
