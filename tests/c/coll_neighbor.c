/* Neighborhood collectives (MPI-5.0 sections 8.6 to 8.8) on grids, graphs and distributed graphs, blocking,
 * non-blocking and persistent: the order of neighbors, ranks that are neighbors several times or of themselves,
 * MPI_PROC_NULL, all lengths, and different types on the two sides.
 * ranks: 1 2 3 4 6 8
 */
#include "check.h"

enum { RANKS_MAX = 64, SLOTS_MAX = 24, STARTS = 2, UNTOUCHED = -77 };
enum kind { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS };
enum form { BLOCKING, LARGE, REQUEST, PERSISTENT, FORMS };

/* A variable: compilers warn of an array at such an address, and in other ABIs it is no constant. */
static int *volatile unweighted;

/* A communicator with its topology, and where each block that this rank receives was sent. */
typedef struct {
    MPI_Comm comm;
    int rank, in, out, sources[SLOTS_MAX], destinations[SLOTS_MAX], sent_from[SLOTS_MAX];
} place;

static int word(int rank, int slot, int i)
{
    return rank * 1000003 + slot * 10007 + i;
}

/* Of several edges between two ranks, the first that is sent is the first that is received. */
static void trace_graph(place *p)
{
    static int mine[SLOTS_MAX], all[RANKS_MAX * SLOTS_MAX];
    for (int k = 0; k < SLOTS_MAX; k++) mine[k] = k < p->out ? p->destinations[k] : -1;
    MPI_Allgather(mine, SLOTS_MAX, MPI_INT, all, SLOTS_MAX, MPI_INT, p->comm);
    for (int k = 0; k < p->in; k++) {
        int before = 0, slot = -1;
        for (int j = 0; j < k; j++) before += p->sources[j] == p->sources[k];
        while (before >= 0) before -= all[p->sources[k] * SLOTS_MAX + ++slot] == p->rank;
        p->sent_from[k] = slot;
    }
}

/* What arrives from one direction was sent in the other (section 8.6). */
static place grid_place(int n, const int *dims, const int *periods)
{
    place p = {MPI_COMM_NULL, -1, 2 * n, 2 * n, {0}, {0}, {0}};
    MUST(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &p.comm));
    if (p.comm == MPI_COMM_NULL) return p;
    MPI_Comm_rank(p.comm, &p.rank);
    for (int d = 0; d < n; d++) MPI_Cart_shift(p.comm, d, 1, &p.sources[2 * d], &p.sources[2 * d + 1]);
    for (int k = 0; k < p.in; k++) {
        p.destinations[k] = p.sources[k];
        p.sent_from[k] = k ^ 1;
    }
    return p;
}

/* A ring with both neighbors and itself. */
static place graph_place(void)
{
    int index[RANKS_MAX], edges[3 * RANKS_MAX];
    place p = {0};
    for (int rank = 0; rank < check_size; rank++) {
        index[rank] = 3 * rank + 3;
        edges[3 * rank] = (rank + check_size - 1) % check_size;
        edges[3 * rank + 1] = rank;
        edges[3 * rank + 2] = (rank + 1) % check_size;
    }
    MUST(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &p.comm));
    MPI_Comm_rank(p.comm, &p.rank);
    p.in = p.out = 3;
    MPI_Graph_neighbors(p.comm, p.rank, SLOTS_MAX, p.sources);
    memcpy(p.destinations, p.sources, sizeof p.sources);
    trace_graph(&p);
    return p;
}

/* Edges that need not go both ways: some ranks have none, some many to one. */
static place dist_graph_place(int told_by_all)
{
    int to[SLOTS_MAX], out = 0, rank = check_rank, weighted;
    place p = {0};
    if (rank % 3 != 2) {
        for (int twice = 0; twice < 2; twice++) to[out++] = (rank + 1) % check_size;
        for (int thrice = 0; thrice < 3; thrice++) to[out++] = rank;
        to[out++] = 0;
        to[out++] = (rank * 2 + 1) % check_size;
    }
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, out > 0, &rank, &out, to, unweighted, MPI_INFO_NULL, 0, &p.comm));
    if (told_by_all) {
        MPI_Comm first = p.comm;
        MPI_Dist_graph_neighbors_count(first, &p.in, &p.out, &weighted);
        MPI_Dist_graph_neighbors(first, p.in, p.sources, unweighted, p.out, p.destinations, unweighted);
        MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, p.in, p.sources, unweighted, p.out, p.destinations,
                                            unweighted, MPI_INFO_NULL, 0, &p.comm));
        MPI_Comm_free(&first);
    }
    MPI_Comm_rank(p.comm, &p.rank);
    MUST(MPI_Dist_graph_neighbors_count(p.comm, &p.in, &p.out, &weighted));
    MUST(MPI_Dist_graph_neighbors(p.comm, p.in, p.sources, unweighted, p.out, p.destinations, unweighted));
    trace_graph(&p);
    return p;
}

/* One collective with its buffers: blocks of up to `n` pairs of ints, placed apart from each other. */
typedef struct {
    enum kind kind;
    int n, *out, *in;
    int out_counts[SLOTS_MAX], in_counts[SLOTS_MAX], out_displs[SLOTS_MAX], in_displs[SLOTS_MAX];
    MPI_Aint out_bytes[SLOTS_MAX], in_bytes[SLOTS_MAX], out_wide[SLOTS_MAX], in_wide[SLOTS_MAX];
    MPI_Count out_large[SLOTS_MAX], in_large[SLOTS_MAX];
    MPI_Datatype out_types[SLOTS_MAX], in_types[SLOTS_MAX];
} work;

static MPI_Datatype pair;

static int equal_blocks(const work *w)
{
    return w->kind == ALLGATHER || w->kind == ALLTOALL;
}

/* How many pairs a rank sends from a slot. */
static int pairs(const work *w, int rank, int slot)
{
    if (equal_blocks(w)) return w->n;
    return w->kind == ALLGATHERV ? (rank + 1) % 3 * w->n / 2 : (rank + slot) % 3 * w->n / 2;
}

/* One block for all where the call gathers. */
static int slot_of(const work *w, int slot)
{
    return w->kind == ALLGATHER || w->kind == ALLGATHERV ? 0 : slot;
}

static void fill(work *w, const place *p, int round)
{
    int stride = equal_blocks(w) ? w->n : w->n + 2;
    for (int k = 0; k < p->out; k++) {
        int count = pairs(w, p->rank, k), base = 2 * stride * slot_of(w, k);
        for (int i = 0; i < 2 * count; i++) w->out[base + i] = word(p->rank, slot_of(w, k), i + round);
        /* Pairs on this side, single ints on the other. */
        w->out_large[k] = w->out_counts[k] = count;
        w->out_wide[k] = w->out_displs[k] = stride * k;
        w->out_bytes[k] = (MPI_Aint)sizeof(int) * base;
        w->out_types[k] = pair;
    }
    for (int k = 0; k < p->in; k++) {
        int source = p->sources[k];
        w->in_large[k] = w->in_counts[k] = source < 0 ? 3 : 2 * pairs(w, source, p->sent_from[k]);
        w->in_wide[k] = w->in_displs[k] = 2 * stride * k;
        w->in_bytes[k] = (MPI_Aint)sizeof(int) * 2 * stride * k;
        w->in_types[k] = MPI_INT;
    }
    for (int i = 0; i < 2 * stride * p->in; i++) w->in[i] = UNTOUCHED;
}

static void verify(const work *w, const place *p, int round)
{
    int stride = equal_blocks(w) ? w->n : w->n + 2, wrong = 0;
    for (int k = 0; k < p->in; k++) {
        int source = p->sources[k], base = 2 * stride * k;
        int count = source < 0 ? 0 : 2 * pairs(w, source, p->sent_from[k]);
        for (int i = 0; i < 2 * stride; i++) {
            int right = i < count ? word(source, slot_of(w, p->sent_from[k]), i + round) : UNTOUCHED;
            wrong += w->in[base + i] != right;
        }
    }
    CHECK_EQ(wrong, 0);
}

static int start_blocking(work *w, MPI_Comm comm)
{
    switch (w->kind) {
    case ALLGATHER: return MPI_Neighbor_allgather(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm);
    case ALLGATHERV:
        return MPI_Neighbor_allgatherv(w->out, w->out_counts[0], pair, w->in, w->in_counts, w->in_displs, MPI_INT,
                                       comm);
    case ALLTOALL: return MPI_Neighbor_alltoall(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm);
    case ALLTOALLV:
        return MPI_Neighbor_alltoallv(w->out, w->out_counts, w->out_displs, pair, w->in, w->in_counts, w->in_displs,
                                      MPI_INT, comm);
    default:
        return MPI_Neighbor_alltoallw(w->out, w->out_counts, w->out_bytes, w->out_types, w->in, w->in_counts,
                                      w->in_bytes, w->in_types, comm);
    }
}

static int start_large(work *w, MPI_Comm comm)
{
    switch (w->kind) {
    case ALLGATHER: return MPI_Neighbor_allgather_c(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm);
    case ALLGATHERV:
        return MPI_Neighbor_allgatherv_c(w->out, w->out_counts[0], pair, w->in, w->in_large, w->in_wide, MPI_INT,
                                         comm);
    case ALLTOALL: return MPI_Neighbor_alltoall_c(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm);
    case ALLTOALLV:
        return MPI_Neighbor_alltoallv_c(w->out, w->out_large, w->out_wide, pair, w->in, w->in_large, w->in_wide,
                                        MPI_INT, comm);
    default:
        return MPI_Neighbor_alltoallw_c(w->out, w->out_large, w->out_bytes, w->out_types, w->in, w->in_large,
                                        w->in_bytes, w->in_types, comm);
    }
}

static int start_request(work *w, MPI_Comm comm, MPI_Request *request)
{
    switch (w->kind) {
    case ALLGATHER: return MPI_Ineighbor_allgather(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm, request);
    case ALLGATHERV:
        return MPI_Ineighbor_allgatherv(w->out, w->out_counts[0], pair, w->in, w->in_counts, w->in_displs, MPI_INT,
                                        comm, request);
    case ALLTOALL: return MPI_Ineighbor_alltoall(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm, request);
    case ALLTOALLV:
        return MPI_Ineighbor_alltoallv(w->out, w->out_counts, w->out_displs, pair, w->in, w->in_counts, w->in_displs,
                                       MPI_INT, comm, request);
    default:
        return MPI_Ineighbor_alltoallw(w->out, w->out_counts, w->out_bytes, w->out_types, w->in, w->in_counts,
                                       w->in_bytes, w->in_types, comm, request);
    }
}

static int prepare(work *w, MPI_Comm comm, MPI_Request *request)
{
    MPI_Info none = MPI_INFO_NULL;
    switch (w->kind) {
    case ALLGATHER:
        return MPI_Neighbor_allgather_init(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm, none, request);
    case ALLGATHERV:
        return MPI_Neighbor_allgatherv_init(w->out, w->out_counts[0], pair, w->in, w->in_counts, w->in_displs, MPI_INT,
                                            comm, none, request);
    case ALLTOALL: return MPI_Neighbor_alltoall_init(w->out, w->n, pair, w->in, 2 * w->n, MPI_INT, comm, none, request);
    case ALLTOALLV:
        return MPI_Neighbor_alltoallv_init(w->out, w->out_counts, w->out_displs, pair, w->in, w->in_counts,
                                           w->in_displs, MPI_INT, comm, none, request);
    default:
        return MPI_Neighbor_alltoallw_init(w->out, w->out_counts, w->out_bytes, w->out_types, w->in, w->in_counts,
                                           w->in_bytes, w->in_types, comm, none, request);
    }
}

static work *new_work(enum kind kind, int n)
{
    size_t bytes = sizeof(int) * 2 * (size_t)(n + 2) * SLOTS_MAX;
    work *w = check_alloc(sizeof *w);
    memset(w, 0, sizeof *w);
    w->kind = kind;
    w->n = n;
    w->out = check_alloc(bytes);
    w->in = check_alloc(bytes);
    return w;
}

static void free_work(work *w)
{
    free(w->out), free(w->in), free(w);
}

/* All kinds at once, where they are requests. */
static void run_form(place *p, int n, enum form form)
{
    work *works[KINDS];
    MPI_Request requests[KINDS];
    for (enum kind kind = ALLGATHER; kind < KINDS; kind++) {
        work *w = works[kind] = new_work(kind, n);
        fill(w, p, 0);
        if (form == BLOCKING) MUST(start_blocking(w, p->comm));
        if (form == LARGE) MUST(start_large(w, p->comm));
        if (form == REQUEST) MUST(start_request(w, p->comm, &requests[kind]));
        if (form == PERSISTENT) MUST(prepare(w, p->comm, &requests[kind]));
    }
    if (form == REQUEST) MUST(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
    for (int round = 0; round < (form == PERSISTENT ? STARTS : 1); round++) {
        for (int kind = 0; kind < KINDS && round > 0; kind++) fill(works[kind], p, round);
        if (form == PERSISTENT) {
            MUST(MPI_Startall(KINDS, requests));
            MUST(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
        }
        for (int kind = 0; kind < KINDS; kind++) verify(works[kind], p, round);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (form == PERSISTENT) MUST(MPI_Request_free(&requests[kind]));
        free_work(works[kind]);
    }
}

static void run(place p)
{
    static const int lengths[] = {0, 1, 10, 300, 9000};
    if (p.comm == MPI_COMM_NULL) return;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (enum form form = BLOCKING; form < FORMS; form++) run_form(&p, lengths[i], form);
    MPI_Comm_free(&p.comm);
}

/* Addresses from MPI_BOTTOM on, and types that say where (section 8.6.3). */
static void from_bottom(void)
{
    place p = graph_place();
    int out[3], in[3], ones[3] = {1, 1, 1};
    MPI_Aint from[3], into[3];
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    for (int k = 0; k < 3; k++) {
        out[k] = word(p.rank, k, 5);
        MPI_Get_address(&out[k], &from[k]), MPI_Get_address(&in[k], &into[k]);
    }
    MUST(MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, from, types, MPI_BOTTOM, ones, into, types, p.comm));
    for (int k = 0; k < 3; k++) CHECK_EQ(in[k], word(p.sources[k], p.sent_from[k], 5));
    MPI_Comm_free(&p.comm);
}

int main(int argc, char **argv)
{
    static const int ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0}, mixed[3] = {1, 0, 1};
    int all[3] = {1, 1, 1}, line[3], flat[3] = {0, 0, 0}, deep[3] = {0, 0, 0}, two[3] = {2, 1, 1};
    check_init(&argc, &argv);
    unweighted = MPI_UNWEIGHTED;
    line[0] = check_size, line[1] = line[2] = 1;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Dims_create(check_size, 2, flat);
    MPI_Dims_create(check_size, 3, deep);
    run(grid_place(0, NULL, NULL));
    run(grid_place(3, all, ones));
    run(grid_place(1, line, ones));
    run(grid_place(1, line, zeros));
    run(grid_place(2, flat, ones));
    run(grid_place(3, deep, mixed));
    if (check_size > 1) run(grid_place(2, two, ones));
    run(graph_place());
    run(dist_graph_place(0));
    run(dist_graph_place(1));
    from_bottom();
    MPI_Type_free(&pair);
    return check_finish();
}
