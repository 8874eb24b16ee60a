// Pi by throwing darts: each rank throws its share, MPI_Reduce adds up the hits.
// usage: mpirun -n 4 montecarlo_pi [DARTS]
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// splitmix64: a stream of its own for every seed.
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double next_unit(uint64_t *state) {
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static long long throw_darts(long long darts, uint64_t seed) {
    uint64_t state = seed;
    long long hits = 0;
    for (long long i = 0; i < darts; i++) {
        double x = next_unit(&state), y = next_unit(&state);
        hits += x * x + y * y <= 1;
    }
    return hits;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long darts = argc > 1 ? atoll(argv[1]) : 100000000;
    MPI_Bcast(&darts, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    long long mine = darts * (rank + 1) / size - darts * rank / size, hits, all_hits;
    double start = MPI_Wtime();
    hits = throw_darts(mine, (uint64_t)rank << 32);
    MPI_Reduce(&hits, &all_hits, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double pi = 4.0 * (double)all_hits / (double)darts, seconds = MPI_Wtime() - start;
        printf("pi is about %.6f (off by %.1e) after %lld darts of %d ranks, %.0f million a second\n", pi,
               fabs(pi - 3.14159265358979323846), darts, size, (double)darts / seconds / 1e6);
    }
    MPI_Finalize();
    return 0;
}
