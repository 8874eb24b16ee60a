// Latency of 8 bytes while the queues are deep: DEPTH posted receives that do not match, then DEPTH
// unexpected messages that nobody has asked for yet. A library that searches a list shows it here.
// usage: queue SECONDS_PER_POINT [DEPTH]
#include "mpi_team.h"

#define DEPTH_DEFAULT 16384
#define TAG_PINGPONG 1
#define TAG_QUEUED 1000

struct queue {
    int rank, peer, depth;
    int *buffers;
    MPI_Request *requests;
};

static void pingpong_loop(void *arg, long iterations) {
    struct queue *q = arg;
    long payload = 0;
    for (long i = 0; i < iterations; i++) {
        if (q->rank == 0)
            MPI_Send(&payload, 8, MPI_BYTE, q->peer, TAG_PINGPONG, MPI_COMM_WORLD);
        MPI_Recv(&payload, 8, MPI_BYTE, q->peer, TAG_PINGPONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (q->rank == 1)
            MPI_Send(&payload, 8, MPI_BYTE, q->peer, TAG_PINGPONG, MPI_COMM_WORLD);
    }
}

static void measure_depth(const struct team *team, struct queue *q, const char *name, double budget) {
    struct summary round_trip = measure(team, pingpong_loop, q, budget);
    if (team->rank == 0)
        print_result(name, q->depth, (struct summary){round_trip.best / 2, round_trip.median / 2});
}

static void post_receives(struct queue *q) {
    for (int i = 0; i < q->depth; i++)
        MPI_Irecv(&q->buffers[i], 1, MPI_INT, q->peer, TAG_QUEUED + i, MPI_COMM_WORLD, &q->requests[i]);
}

// Non-blocking, so that a library with bounded buffers may keep what does not fit.
static void send_messages(struct queue *q) {
    for (int i = 0; i < q->depth; i++)
        MPI_Isend(&q->buffers[i], 1, MPI_INT, q->peer, TAG_QUEUED + i, MPI_COMM_WORLD, &q->requests[i]);
}

// Each rank satisfies the receives of the other.
static void drain_posted(struct queue *q) {
    int value = 0;
    for (int i = 0; i < q->depth; i++)
        MPI_Send(&value, 1, MPI_INT, q->peer, TAG_QUEUED + i, MPI_COMM_WORLD);
    MPI_Waitall(q->depth, q->requests, MPI_STATUSES_IGNORE);
}

static void drain_unexpected(struct queue *q) {
    int value;
    for (int i = 0; i < q->depth; i++)
        MPI_Recv(&value, 1, MPI_INT, q->peer, TAG_QUEUED + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(q->depth, q->requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    double budget = budget_of(argc, argv);
    int depth = argc > 2 ? atoi(argv[2]) : DEPTH_DEFAULT;
    struct queue q = {team.rank, 1 - team.rank, depth, NULL, NULL};
    q.buffers = calloc((size_t)depth, sizeof *q.buffers);
    q.requests = calloc((size_t)depth, sizeof *q.requests);

    measure_depth(&team, &q, "queue_empty", budget);
    post_receives(&q);
    measure_depth(&team, &q, "queue_posted", budget);
    MPI_Barrier(MPI_COMM_WORLD);
    drain_posted(&q);
    send_messages(&q);
    measure_depth(&team, &q, "queue_unexpected", budget);
    drain_unexpected(&q);

    free(q.buffers);
    free(q.requests);
    MPI_Finalize();
    return 0;
}
