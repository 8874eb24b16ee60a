// One-way latency between pairs of ranks: half a round trip, for a range of sizes.
// usage: latency SECONDS_PER_POINT [BYTES...]
#include "mpi_team.h"

#define BYTES_MAX (16L << 20)
#define CURVE_BYTES_MAX (4L << 20)

struct pingpong {
    int rank;
    int bytes;
    char *out, *in;
};

static void pingpong_loop(void *arg, long iterations) {
    struct pingpong *p = arg;
    int other = p->rank ^ 1;
    for (long i = 0; i < iterations; i++) {
        if (p->rank < other) {
            MPI_Send(p->out, p->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
            MPI_Recv(p->in, p->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(p->in, p->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(p->out, p->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        }
    }
}

static void measure_size(const struct team *team, struct pingpong *p, long bytes, double budget) {
    p->bytes = (int)bytes;
    struct summary round_trip = measure(team, pingpong_loop, p, budget);
    if (team->rank == 0)
        print_result("latency", bytes, (struct summary){round_trip.best / 2, round_trip.median / 2});
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    struct pingpong p = {team.rank, 0, touched(BYTES_MAX, 1), touched(BYTES_MAX, 2)};
    double budget = budget_of(argc, argv);
    if (argc > 2)
        for (int i = 2; i < argc; i++)
            measure_size(&team, &p, atol(argv[i]), budget);
    else
        for (long bytes = 1; bytes <= CURVE_BYTES_MAX; bytes *= 2)
            measure_size(&team, &p, bytes, budget);
    MPI_Finalize();
    return 0;
}
