// What progress without the program costs and brings (MPI-LAPI section 6; MP_Lite thesis chapter 5).
// usage: overlap SECONDS_PER_POINT [BYTES [interrupt]]
//
// overlap_lost:      of the time that a message of BYTES takes by itself, the part that it adds to a computation during
//                    which it could go on
// interrupt_latency: one-way latency of 8 bytes to a receiver that computes and looks at its buffer, and calls MPI only
//                    when the message is there; only with "interrupt", since it never ends where nothing moves
//                    meanwhile (Tern: TERN_PROGRESS=thread)
#include "mpi_team.h"

struct exchange {
    int rank, bytes;
    char *out, *in;
    long rounds; // of computation
};

// Rank 0 sends, both compute, both wait; then the other way, so that no rank runs ahead.
static void overlap_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < 2 * iterations; i++) {
        MPI_Request request;
        if (e->rank == i % 2)
            MPI_Isend(e->out, e->bytes, MPI_BYTE, 1 - e->rank, 1, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(e->in, e->bytes, MPI_BYTE, 1 - e->rank, 1, MPI_COMM_WORLD, &request);
        compute_rounds(e->rounds);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// The same computation with nothing under way.
static void compute_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < 2 * iterations; i++)
        compute_rounds(e->rounds);
}

static void interrupt_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    volatile char *seen = e->in;
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        *seen = 0;
        MPI_Irecv(e->in, 8, MPI_BYTE, 1 - e->rank, 2, MPI_COMM_WORLD, &request);
        if (e->rank == 0)
            MPI_Send(e->out, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        while (*seen == 0)
            ;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (e->rank == 1)
            MPI_Send(e->out, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    double budget = budget_of(argc, argv);
    long bytes = argc > 2 ? atol(argv[2]) : 4L << 20;
    struct exchange e = {team.rank, (int)bytes, touched((size_t)bytes, 1), touched((size_t)bytes, 2), 0};
    // Twice as long as one message takes.
    struct beside messages = {overlap_loop, compute_loop, overlap_loop, &e, &e.rounds, 1};
    struct beside_times times = measure_beside(&team, &messages, budget);
    if (team.rank == 0)
        print_result("overlap_lost", bytes, times.added);
    struct summary round_trip = {0, 0};
    if (argc > 3)
        round_trip = measure(&team, interrupt_loop, &e, budget);
    if (argc > 3 && team.rank == 0)
        print_result("interrupt_latency", 8, (struct summary){round_trip.best / 2, round_trip.median / 2});
    MPI_Finalize();
    return 0;
}
