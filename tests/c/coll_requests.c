/* Collectives as requests (MPI-5.0 sections 6.12 and 6.13): every one non-blocking and persistent, many under way at
 * once, completed in any order and by any call, functions of the program's among them, and nobody held up by a rank
 * that waits for something else.
 * ranks: 1 2 3 4 5 8
 */
#include "check.h"

enum { KINDS = 17, N = 37, STARTS = 3, MANY = 40 };

/* One collective with buffers of its own; `round` changes the data from start to start. */
struct work {
    int kind, root;
    int *send, *recv, *counts, *displs;
    MPI_Datatype *types;
};

static int size, rank;

static int word(int r, int to, int i, int round)
{
    return r * 10007 + to * 101 + i + round * 77777;
}

/* 2 x 2 matrices modulo a prime: associative, not commutative. */
static void multiply(void *left, void *right, int *len, MPI_Datatype *type)
{
    (void)type;
    const int *a = left;
    int *b = right;
    for (int i = 0; i < *len; i++, a += 4, b += 4) {
        long c[4] = {(long)a[0] * b[0] + (long)a[1] * b[2], (long)a[0] * b[1] + (long)a[1] * b[3],
                     (long)a[2] * b[0] + (long)a[3] * b[2], (long)a[2] * b[1] + (long)a[3] * b[3]};
        for (int k = 0; k < 4; k++) b[k] = (int)(c[k] % 10007);
    }
}

static void prepare(struct work *w, int kind)
{
    w->kind = kind, w->root = kind % size;
    w->send = check_alloc(sizeof(int) * N * size), w->recv = check_alloc(sizeof(int) * N * size);
    w->counts = check_alloc(sizeof(int) * size), w->displs = check_alloc(sizeof(int) * size);
    w->types = check_alloc(sizeof(MPI_Datatype) * size);
    for (int r = 0; r < size; r++) {
        w->counts[r] = N, w->types[r] = MPI_INT;
        w->displs[r] = N * r * (kind == 10 ? (int)sizeof(int) : 1);
    }
}

static void fill(struct work *w, int round)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < N; i++) w->send[to * N + i] = word(rank, to, i, round);
    memset(w->recv, 0xEE, sizeof(int) * N * size);
    if (w->kind == 1 && rank == w->root) memcpy(w->recv, w->send, sizeof(int) * N);
}

static void start(struct work *w, MPI_Request *q)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int *s = w->send, *d = w->recv, *c = w->counts, *p = w->displs, root = w->root;
    MPI_Datatype t = MPI_INT;
    switch (w->kind) {
    case 0: MUST(MPI_Ibarrier(comm, q)); break;
    case 1: MUST(MPI_Ibcast(d, N, t, root, comm, q)); break;
    case 2: MUST(MPI_Igather(s, N, t, d, N, t, root, comm, q)); break;
    case 3: MUST(MPI_Igatherv(s, N, t, d, c, p, t, root, comm, q)); break;
    case 4: MUST(MPI_Iscatter(s, N, t, d, N, t, root, comm, q)); break;
    case 5: MUST(MPI_Iscatterv(s, c, p, t, d, N, t, root, comm, q)); break;
    case 6: MUST(MPI_Iallgather(s, N, t, d, N, t, comm, q)); break;
    case 7: MUST(MPI_Iallgatherv(s, N, t, d, c, p, t, comm, q)); break;
    case 8: MUST(MPI_Ialltoall(s, N, t, d, N, t, comm, q)); break;
    case 9: MUST(MPI_Ialltoallv(s, c, p, t, d, c, p, t, comm, q)); break;
    case 10: MUST(MPI_Ialltoallw(s, c, p, w->types, d, c, p, w->types, comm, q)); break;
    case 11: MUST(MPI_Ireduce(s, d, N, t, MPI_SUM, root, comm, q)); break;
    case 12: MUST(MPI_Iallreduce(s, d, N, t, MPI_MAX, comm, q)); break;
    case 13: MUST(MPI_Ireduce_scatter(s, d, c, t, MPI_SUM, comm, q)); break;
    case 14: MUST(MPI_Ireduce_scatter_block(s, d, N, t, MPI_SUM, comm, q)); break;
    case 15: MUST(MPI_Iscan(s, d, N, t, MPI_SUM, comm, q)); break;
    case 16: MUST(MPI_Iexscan(s, d, N, t, MPI_SUM, comm, q)); break;
    }
}

static void make_persistent(struct work *w, MPI_Request *q)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int *s = w->send, *d = w->recv, *c = w->counts, *p = w->displs, root = w->root;
    MPI_Datatype t = MPI_INT;
    MPI_Info no = MPI_INFO_NULL;
    switch (w->kind) {
    case 0: MUST(MPI_Barrier_init(comm, no, q)); break;
    case 1: MUST(MPI_Bcast_init(d, N, t, root, comm, no, q)); break;
    case 2: MUST(MPI_Gather_init(s, N, t, d, N, t, root, comm, no, q)); break;
    case 3: MUST(MPI_Gatherv_init(s, N, t, d, c, p, t, root, comm, no, q)); break;
    case 4: MUST(MPI_Scatter_init(s, N, t, d, N, t, root, comm, no, q)); break;
    case 5: MUST(MPI_Scatterv_init(s, c, p, t, d, N, t, root, comm, no, q)); break;
    case 6: MUST(MPI_Allgather_init(s, N, t, d, N, t, comm, no, q)); break;
    case 7: MUST(MPI_Allgatherv_init(s, N, t, d, c, p, t, comm, no, q)); break;
    case 8: MUST(MPI_Alltoall_init(s, N, t, d, N, t, comm, no, q)); break;
    case 9: MUST(MPI_Alltoallv_init(s, c, p, t, d, c, p, t, comm, no, q)); break;
    case 10: MUST(MPI_Alltoallw_init(s, c, p, w->types, d, c, p, w->types, comm, no, q)); break;
    case 11: MUST(MPI_Reduce_init(s, d, N, t, MPI_SUM, root, comm, no, q)); break;
    case 12: MUST(MPI_Allreduce_init(s, d, N, t, MPI_MAX, comm, no, q)); break;
    case 13: MUST(MPI_Reduce_scatter_init(s, d, c, t, MPI_SUM, comm, no, q)); break;
    case 14: MUST(MPI_Reduce_scatter_block_init(s, d, N, t, MPI_SUM, comm, no, q)); break;
    case 15: MUST(MPI_Scan_init(s, d, N, t, MPI_SUM, comm, no, q)); break;
    case 16: MUST(MPI_Exscan_init(s, d, N, t, MPI_SUM, comm, no, q)); break;
    }
}

static int sum(int from, int to, int block, int i, int round)
{
    int total = 0;
    for (int r = from; r < to; r++) total += word(r, block, i, round);
    return total;
}

/* What element i of the block from rank r must be. */
static int expected(const struct work *w, int r, int i, int round)
{
    switch (w->kind) {
    case 1: return word(w->root, 0, i, round);
    case 2: case 3: case 6: case 7: return word(r, 0, i, round);
    case 4: case 5: return word(w->root, rank, i, round);
    case 8: case 9: case 10: return word(r, rank, i, round);
    case 11: return sum(0, size, 0, i, round);
    case 12: return word(size - 1, 0, i, round);
    case 13: case 14: return sum(0, size, rank, i, round);
    case 15: return sum(0, rank + 1, 0, i, round);
    default: return sum(0, rank, 0, i, round);
    }
}

static void verify(const struct work *w, int round)
{
    int rooted = w->kind == 2 || w->kind == 3 || w->kind == 11, bad = 0;
    int blocks = w->kind == 2 || w->kind == 3 || (w->kind >= 6 && w->kind <= 10) ? size : 1;
    if (w->kind == 0 || (rooted && rank != w->root) || (w->kind == 16 && rank == 0)) return;
    for (int r = 0; r < blocks; r++)
        for (int i = 0; i < N; i++) bad += w->recv[r * N + i] != expected(w, r, i, round);
    if (!CHECK_EQ(bad, 0)) fprintf(stderr, "rank %d: kind %d, round %d\n", rank, w->kind, round);
}

static void release(struct work *w)
{
    free(w->send), free(w->recv), free(w->counts), free(w->displs), free(w->types);
}

/* All kinds under way at once, several times over, completed from the last to the first. */
static void nonblocking(void)
{
    struct work w[MANY];
    MPI_Request q[MANY];
    for (int k = 0; k < MANY; k++) prepare(&w[k], k % KINDS), fill(&w[k], k), start(&w[k], &q[k]);
    for (int k = MANY - 1; k >= MANY / 2; k--) MUST(MPI_Wait(&q[k], MPI_STATUS_IGNORE));
    int done = 0;
    while (!done) MUST(MPI_Testall(MANY / 2, q, &done, MPI_STATUSES_IGNORE));
    for (int k = 0; k < MANY; k++) {
        CHECK(q[k] == MPI_REQUEST_NULL);
        verify(&w[k], k), release(&w[k]);
    }
}

static void persistent(void)
{
    struct work w[KINDS];
    MPI_Request q[KINDS];
    for (int k = 0; k < KINDS; k++) prepare(&w[k], k), make_persistent(&w[k], &q[k]);
    for (int round = 0; round < STARTS; round++) {
        for (int k = 0; k < KINDS; k++) fill(&w[k], round);
        MPI_Status status;
        MUST(MPI_Wait(&q[round], &status));
        CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
        MUST(MPI_Startall(KINDS / 2, q));
        for (int k = KINDS / 2; k < KINDS; k++) MUST(MPI_Start(&q[k]));
        for (int left = KINDS, index; left > 0; left--) MUST(MPI_Waitany(KINDS, q, &index, MPI_STATUS_IGNORE));
        for (int k = 0; k < KINDS; k++) verify(&w[k], round);
    }
    for (int k = 0; k < KINDS; k++) {
        CHECK(q[k] != MPI_REQUEST_NULL);
        MUST(MPI_Request_free(&q[k]));
        release(&w[k]);
    }
}

/* Functions of the program's run for whichever request needs them, while another one is waited for. */
static void functions(void)
{
    enum { SETS = 5, LEN = 3 };
    int in[SETS][LEN * 4], out[SETS][LEN * 4], product[LEN * 4];
    MPI_Request q[SETS];
    MPI_Datatype matrix;
    MPI_Op op;
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    for (int k = 0; k < SETS; k++) {
        for (int i = 0; i < LEN * 4; i++) in[k][i] = (rank + 2) * (i + 1) + k;
        MUST(MPI_Iallreduce(in[k], out[k], LEN, matrix, op, MPI_COMM_WORLD, &q[k]));
    }
    MPI_Op_free(&op);
    for (int k = SETS - 1; k >= 0; k--) {
        MUST(MPI_Wait(&q[k], MPI_STATUS_IGNORE));
        for (int r = size - 1; r >= 0; r--) {
            int factor[LEN * 4], len = LEN;
            for (int i = 0; i < LEN * 4; i++) factor[i] = (r + 2) * (i + 1) + k;
            if (r < size - 1) multiply(factor, product, &len, &matrix);
            else memcpy(product, factor, sizeof product);
        }
        if (size > 1) CHECK_EQ(memcmp(product, out[k], sizeof product), 0);
    }
    MPI_Type_free(&matrix);
}

/* Every rank but the last sits in a receive that ends only after the barrier of the last one has. */
static void moved_on_by_any_wait(void)
{
    MPI_Request q;
    int token = 0;
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &q));
    if (rank == size - 1) {
        MUST(MPI_Wait(&q, MPI_STATUS_IGNORE));
        for (int r = 0; r < size - 1; r++) MUST(MPI_Send(&token, 1, MPI_INT, r, 3, MPI_COMM_WORLD));
    } else {
        MUST(MPI_Recv(&token, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&q, MPI_STATUS_IGNORE));
    }
}

/* The communicator and the datatype may be freed while the collective is under way (section 6.12). */
static void freed_early(void)
{
    int data[100];
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Request q;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(50, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < 100; i++) data[i] = rank == 0 ? i : -1;
    MUST(MPI_Ibcast(data, 1, pair, 0, comm, &q));
    MPI_Type_free(&pair), MPI_Comm_free(&comm);
    MUST(MPI_Wait(&q, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; i++) CHECK_EQ(data[i], rank == 0 || i % 2 == 0 ? i : -1);
}

static void misuse(void)
{
    MPI_Request q;
    int data = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Ibcast(&data, -1, MPI_INT, 0, MPI_COMM_WORLD, &q), MPI_ERR_COUNT, "MPI_Ibcast");
    CHECK_ERROR(MPI_Ibarrier(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Ibarrier");
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &q));
    CHECK_ERROR(MPI_Request_free(&q), MPI_ERR_REQUEST, "MPI_Request_free");
    CHECK_ERROR(MPI_Cancel(&q), MPI_ERR_REQUEST, "MPI_Cancel");
    CHECK_ERROR(MPI_Start(&q), MPI_ERR_REQUEST, "MPI_Start");
    MUST(MPI_Wait(&q, MPI_STATUS_IGNORE));
    /* What MPI_Request_get_status has told complete may be freed. */
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &q));
    for (int done = 0; !done;) MUST(MPI_Request_get_status(q, &done, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&q));
    CHECK(q == MPI_REQUEST_NULL);
    MUST(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q));
    CHECK_ERROR(MPI_Cancel(&q), MPI_ERR_REQUEST, "MPI_Cancel");
    MUST(MPI_Start(&q));
    CHECK_ERROR(MPI_Start(&q), MPI_ERR_REQUEST, "is active");
    CHECK_ERROR(MPI_Request_free(&q), MPI_ERR_REQUEST, "MPI_Request_free");
    MUST(MPI_Wait(&q, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&q));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    size = check_size, rank = check_rank;
    nonblocking();
    persistent();
    functions();
    moved_on_by_any_wait();
    freed_early();
    misuse();
    return check_finish();
}
