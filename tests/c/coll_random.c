/* Collectives in any mixture (MPI-5.0 chapter 6): a random program, the same at every rank, of blocking, large-count,
 * non-blocking and persistent collectives on many communicators and intercommunicators, over types with gaps, of
 * negative bounds and extents, in place, of no length, with functions of the program's that do not commute. Each rank
 * completes what is under way in an order of its own and by any call, with messages in between. Every byte of every
 * buffer is compared, the gaps and the send buffers too. Arguments: how many steps, and the seed.
 * ranks: 1 2 3 5 8
 */
#include "check.h"

enum { RANKS_MAX = 64, PENDING_MAX = 24, COMMS_MAX = 12, PER_PLACE = 2 };
enum kind {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
    REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS
};

/* An element is always two ints: where they lie, and how far the next element is, in ints. */
static const struct { int first, second, extent; } shapes[] = {
    {0, 1, 2}, {0, 3, 5}, {0, -2, 4}, {-3, -1, 5}, {1, 0, -3},
};
enum { PLAIN, SHAPES = sizeof shapes / sizeof *shapes };
static MPI_Datatype types[SHAPES];

typedef struct {
    MPI_Comm comm;
    int size, rank, peers, inter, group;
    int members[RANKS_MAX], others[RANKS_MAX];
} place;

/* One buffer: blocks of elements around an origin, and what all its bytes have to be at the end. */
typedef struct {
    int *room, *want, *origin;
    size_t ints;
    int shape, blocks;
    int counts[RANKS_MAX], displs[RANKS_MAX], bytes[RANKS_MAX], shapes[RANKS_MAX];
    MPI_Count large[RANKS_MAX];
    MPI_Aint wide[RANKS_MAX];
    MPI_Datatype each[RANKS_MAX];
} side;

typedef struct {
    enum kind kind;
    place *p;
    int step, round, n, root, in_place, op, vary, compare;
    side send, recv;
    int twice[RANKS_MAX];
    MPI_Count twice_large[RANKS_MAX];
    MPI_Request request;
} work;

enum op { SUM, MAX, XOR, LOC, CHAIN, COMMUTING, OPS };
static MPI_Op ops[OPS];
static place places[COMMS_MAX];
static int place_count;
static uint64_t shared, own;
static work *pending[PENDING_MAX];
static MPI_Request requests[PENDING_MAX];
static int pending_count;
static work *persistents[COMMS_MAX * PER_PLACE];

static int pick(int limit) { return (int)check_random(&shared, (uint64_t)limit); }
static int chance(int limit) { return (int)check_random(&own, (uint64_t)limit); }

/* Int `i` of what the process `who` sends to slot `slot`. */
static unsigned value(const work *w, int who, int slot, int i)
{
    uint64_t seed = (uint64_t)w->step * 1000003u + (uint64_t)w->round * 7919u + (uint64_t)who * 131u + (uint64_t)slot;
    unsigned word = (unsigned)check_word(seed, (uint64_t)i);
    /* The second of a pair for MPI_MINLOC is an index. */
    return w->op == LOC && w->kind >= REDUCE ? word % (i % 2 ? 50 : 7) : word;
}

static void combine_one(int op, const unsigned *left, unsigned *right)
{
    unsigned a = left[0], b = left[1];
    switch (op) {
    case SUM: case COMMUTING: right[0] += a, right[1] += b; break;
    case MAX:
        right[0] = (int)a > (int)right[0] ? a : right[0], right[1] = (int)b > (int)right[1] ? b : right[1];
        break;
    case XOR: right[0] ^= a, right[1] ^= b; break;
    case LOC:
        if ((int)a < (int)right[0] || (a == right[0] && (int)b < (int)right[1])) right[0] = a, right[1] = b;
        break;
    /* x -> a x + b, one function after the other. */
    default: right[1] += b * right[0], right[0] *= a; break;
    }
}

static int shape_of(MPI_Datatype type)
{
    for (int s = 0; s < SHAPES; s++)
        if (types[s] == type) return s;
    CHECK(!"a type that the program did not give");
    return 0;
}

static void apply(int op, void *in, void *inout, int len, MPI_Datatype type)
{
    int s = shape_of(type), *left = in, *right = inout;
    for (int i = 0; i < len; i++, left += shapes[s].extent, right += shapes[s].extent) {
        unsigned a[2] = {(unsigned)left[shapes[s].first], (unsigned)left[shapes[s].second]};
        unsigned b[2] = {(unsigned)right[shapes[s].first], (unsigned)right[shapes[s].second]};
        combine_one(op, a, b);
        right[shapes[s].first] = (int)b[0], right[shapes[s].second] = (int)b[1];
    }
}

static void chain(void *in, void *inout, int *len, MPI_Datatype *type) { apply(CHAIN, in, inout, *len, *type); }
static void commuting(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    apply(COMMUTING, in, inout, (int)*len, *type);
}

static void make_types(void)
{
    for (int s = 0; s < SHAPES; s++) {
        MPI_Datatype raw;
        int lengths[2] = {1, 1};
        MPI_Aint at[2] = {4 * shapes[s].first, 4 * shapes[s].second};
        MUST(MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &raw));
        MUST(MPI_Type_create_resized(raw, at[0] < at[1] ? at[0] : at[1], 4 * shapes[s].extent, &types[s]));
        MUST(MPI_Type_commit(&types[s]));
        MPI_Type_free(&raw);
    }
}

static void add_place(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        places[place_count++].comm = comm;
        return;
    }
    place *p = &places[place_count++];
    memset(p, 0, sizeof *p);
    p->comm = comm;
    MPI_Comm_size(comm, &p->size), MPI_Comm_rank(comm, &p->rank), MPI_Comm_test_inter(comm, &p->inter);
    int ranks[RANKS_MAX];
    for (int r = 0; r < RANKS_MAX; r++) ranks[r] = r;
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(group, p->size, ranks, world, p->members);
    MPI_Group_free(&group);
    p->peers = p->size;
    memcpy(p->others, p->members, sizeof p->members);
    if (p->inter) {
        MPI_Comm_remote_size(comm, &p->peers), MPI_Comm_remote_group(comm, &group);
        MPI_Group_translate_ranks(group, p->peers, ranks, world, p->others);
        MPI_Group_free(&group);
        p->group = p->members[0] > p->others[0];
    }
    MPI_Group_free(&world);
}

static void add_inter(MPI_Comm half, int other_leader)
{
    MPI_Comm inter;
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other_leader, 5, &inter));
    add_place(inter);
}

static void make_places(void)
{
    MPI_Comm comm;
    add_place(MPI_COMM_WORLD), add_place(MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), add_place(comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm), add_place(comm);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comm), add_place(comm);
    if (check_size > 1) add_inter(comm, 1 - check_rank % 2);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank != 0, -check_rank, &comm), add_place(comm);
    if (check_size > 1) add_inter(comm, check_rank ? 0 : check_size - 1);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank < 3 ? 0 : MPI_UNDEFINED, check_rank == 1, &comm), add_place(comm);
}

static int *at(const side *s, int block, int i)
{
    int shape = s->shapes[block], element = i / 2;
    int *start = s->origin + s->bytes[block] / 4;
    return start + element * shapes[shape].extent + (i % 2 ? shapes[shape].second : shapes[shape].first);
}

/* Room for blocks of these counts in an order of their own, apart from each other. */
static void lay_out(work *w, side *s, int blocks, const int *counts, int each)
{
    int equal = w->kind == GATHER || w->kind == SCATTER || w->kind == ALLGATHER || w->kind == ALLTOALL ||
                w->kind >= REDUCE || blocks == 1;
    size_t total = 64;
    s->shape = w->kind >= REDUCE ? w->vary % SHAPES : chance(SHAPES), s->blocks = blocks;
    if (w->kind >= REDUCE && w->op < LOC) s->shape = PLAIN;
    for (int k = 0; k < blocks; k++) total += (size_t)(counts[k] + 3) * 8;
    s->ints = 2 * total, s->room = check_alloc(4 * s->ints), s->want = check_alloc(4 * s->ints);
    s->origin = s->room + total;
    memset(s->room, 0xEE, 4 * s->ints);
    int next = 0, apart = -(int)total / 2, gap = equal ? 0 : chance(3), backwards = !equal && chance(2);
    for (int i = 0; i < blocks; i++) {
        int k = backwards ? blocks - 1 - i : i;
        s->counts[k] = counts[k], s->shapes[k] = s->shape, s->displs[k] = next;
        s->bytes[k] = 4 * next * shapes[s->shape].extent;
        next += counts[k] + gap;
        /* Of an alltoallw every block has a type of its own. */
        if (each) {
            s->shapes[k] = chance(SHAPES), s->each[k] = types[s->shapes[k]];
            int extent = shapes[s->shapes[k]].extent;
            s->bytes[k] = 4 * (apart + 8 - (extent < 0 ? extent * counts[k] : 0));
            apart += (counts[k] + 3) * 8;
            if (counts[k] == 0 && chance(2)) s->each[k] = MPI_DATATYPE_NULL;
        }
        s->large[k] = s->counts[k], s->wide[k] = each ? s->bytes[k] : s->displs[k];
    }
}

static void release(side *s)
{
    free(s->room), free(s->want);
    s->room = s->want = NULL;
}

/* How many elements go from one process to another in the vector forms. */
static int uneven(const work *w, int from, int to)
{
    int low = from < to ? from : to, high = from < to ? to : from;
    uint64_t word = w->in_place ? check_word((uint64_t)w->step, (uint64_t)(low * 64 + high))
                                : check_word((uint64_t)w->step, (uint64_t)(from * 64 + to));
    return word % 3 == 0 ? 0 : (int)(word / 3 % (uint64_t)(w->n + 1));
}

static int rooted(const work *w)
{
    return w->kind == BCAST || (w->kind >= GATHER && w->kind <= SCATTERV) || w->kind == REDUCE;
}

/* The group of the root, its world rank, and whether this process is it or has a part. */
static int root_group(const work *w) { return w->p->inter ? w->vary % 2 : 0; }
static int in_root_group(const work *w) { return !w->p->inter || w->p->group == root_group(w); }
static int root_size(const work *w) { return in_root_group(w) ? w->p->size : w->p->peers; }
static int root_rank(const work *w) { return w->root % root_size(w); }
static int is_root(const work *w) { return in_root_group(w) && w->p->rank == root_rank(w); }
static int is_leaf(const work *w) { return !w->p->inter || !in_root_group(w); }
static int root_who(const work *w)
{
    return (in_root_group(w) ? w->p->members : w->p->others)[root_rank(w)];
}
static int root_argument(const work *w)
{
    if (!w->p->inter || !in_root_group(w)) return root_rank(w);
    return is_root(w) ? MPI_ROOT : MPI_PROC_NULL;
}
/* Those that the root gathers from. */
static const int *leaves(const work *w) { return w->p->others; }

static int vector_kind(const work *w)
{
    return w->kind == GATHERV || w->kind == SCATTERV || w->kind == ALLGATHERV || w->kind == ALLTOALLV ||
           w->kind == ALLTOALLW || w->kind == REDUCE_SCATTER;
}

/* A block from one process to another; 0 stands for what goes to all. */
static int block_count(const work *w, int from, int to) { return vector_kind(w) ? uneven(w, from, to) : w->n; }

static void make_sides(work *w)
{
    const place *p = w->p;
    const int me = p->members[p->rank], *peers = p->others;
    int out[RANKS_MAX] = {0}, in[RANKS_MAX] = {0}, outs = 0, ins = 0;
    switch (w->kind) {
    case BARRIER: break;
    case BCAST:
        if (is_root(w) || is_leaf(w)) in[ins++] = w->n;
        break;
    case GATHER: case GATHERV:
        if (is_leaf(w)) out[outs++] = block_count(w, me, 0);
        if (is_root(w)) for (; ins < p->peers; ins++) in[ins] = block_count(w, peers[ins], 0);
        break;
    case SCATTER: case SCATTERV:
        if (is_root(w)) for (; outs < p->peers; outs++) out[outs] = block_count(w, 0, peers[outs]);
        if (is_leaf(w)) in[ins++] = block_count(w, 0, me);
        break;
    case ALLGATHER: case ALLGATHERV:
        out[outs++] = block_count(w, me, 0);
        for (; ins < p->peers; ins++) in[ins] = block_count(w, peers[ins], 0);
        break;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (; outs < p->peers; outs++) out[outs] = block_count(w, me, peers[outs]);
        for (; ins < p->peers; ins++) in[ins] = block_count(w, peers[ins], me);
        break;
    case REDUCE_SCATTER: case REDUCE_SCATTER_BLOCK:
        /* The blocks of the own group's ranks, as many elements in all as the other group's. */
        for (; outs < p->size; outs++) out[outs] = block_count(w, 0, p->members[outs]);
        in[ins++] = out[p->rank];
        break;
    default:
        if (w->kind != REDUCE || is_leaf(w)) out[outs++] = w->n;
        if (w->kind != REDUCE || is_root(w)) in[ins++] = w->n;
    }
    if (w->in_place && (w->kind == REDUCE_SCATTER || w->kind == REDUCE_SCATTER_BLOCK))
        for (ins = 0; ins < outs; ins++) in[ins] = out[ins];
    lay_out(w, &w->send, outs, out, w->kind == ALLTOALLW);
    lay_out(w, &w->recv, ins, in, w->kind == ALLTOALLW);
}

static void put(const work *w, side *s, int block, int who, int slot, int first)
{
    for (int i = 0; i < 2 * s->counts[block]; i++) *at(s, block, i) = (int)value(w, who, slot, 2 * first + i);
}

static void expect(const work *w, side *s, int block, int who, int slot)
{
    for (int i = 0; i < 2 * s->counts[block]; i++)
        s->want[at(s, block, i) - s->room] = (int)value(w, who, slot, i);
}

/* The operands of processes `from` to `to` of a list, combined. */
static void expect_reduced(const work *w, side *s, const int *who, int from, int to, int first, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned total[2] = {0, 0};
        for (int r = to - 1; r >= from; r--) {
            unsigned v[2] = {value(w, who[r], 0, 2 * (first + i)), value(w, who[r], 0, 2 * (first + i) + 1)};
            if (r == to - 1) memcpy(total, v, sizeof v);
            else combine_one(w->op, v, total);
        }
        for (int k = 0; k < 2; k++) s->want[at(s, 0, 2 * i + k) - s->room] = (int)total[k];
    }
}

/* In place a rank's own block, or its whole send side, is where it receives. */
static void fill(work *w)
{
    const place *p = w->p;
    const int me = p->members[p->rank];
    side *s = &w->send, *r = &w->recv;
    memset(s->room, 0xEE, 4 * s->ints), memset(r->room, 0xEE, 4 * r->ints);
    switch (w->kind) {
    case BARRIER: break;
    case BCAST: if (is_root(w)) put(w, r, 0, me, 0, 0); break;
    case SCATTER: case SCATTERV: case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (int k = 0; k < s->blocks; k++) put(w, s, k, me, p->others[k], 0);
        if (w->in_place && w->kind >= ALLTOALL)
            for (int k = 0; k < r->blocks; k++) put(w, r, k, me, p->others[k], 0);
        break;
    case REDUCE_SCATTER: case REDUCE_SCATTER_BLOCK:
        for (int k = 0, first = 0; k < s->blocks; first += s->counts[k++]) put(w, s, k, me, 0, first);
        if (w->in_place) for (int k = 0, first = 0; k < r->blocks; first += r->counts[k++]) put(w, r, k, me, 0, first);
        break;
    default:
        if (s->blocks) put(w, s, 0, me, 0, 0);
        if (w->in_place && r->blocks) put(w, r, w->kind >= REDUCE ? 0 : p->rank, me, 0, 0);
    }
    memcpy(s->want, s->room, 4 * s->ints), memcpy(r->want, r->room, 4 * r->ints);
    w->compare = 1;
    switch (w->kind) {
    case BARRIER: break;
    case BCAST: if (r->blocks) expect(w, r, 0, root_who(w), 0); break;
    case GATHER: case GATHERV: case ALLGATHER: case ALLGATHERV:
        for (int k = 0; k < r->blocks; k++) expect(w, r, k, p->others[k], 0);
        break;
    case SCATTER: case SCATTERV:
        if (r->blocks && !(w->in_place && is_root(w))) expect(w, r, 0, root_who(w), me);
        break;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (int k = 0; k < r->blocks; k++) expect(w, r, k, p->others[k], me);
        break;
    case REDUCE: if (r->blocks) expect_reduced(w, r, leaves(w), 0, p->peers, 0, w->n); break;
    case ALLREDUCE: expect_reduced(w, r, p->others, 0, p->peers, 0, w->n); break;
    case REDUCE_SCATTER: case REDUCE_SCATTER_BLOCK: {
        int first = 0;
        for (int k = 0; k < p->rank; k++) first += s->counts[k];
        expect_reduced(w, r, p->others, 0, p->peers, first, s->counts[p->rank]);
        if (w->in_place) w->compare = 2;
        break;
    }
    case SCAN: expect_reduced(w, r, p->others, 0, p->rank + 1, 0, w->n); break;
    default:
        if (p->rank > 0) expect_reduced(w, r, p->others, 0, p->rank, 0, w->n);
        else if (!w->in_place) w->compare = 0;
    }
}

static const char *const names[] = {"barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather",
    "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter",
    "reduce_scatter_block", "scan", "exscan"};

static void verify(work *w)
{
    side *s = &w->send, *r = &w->recv;
    int wrong = memcmp(s->want, s->room, 4 * s->ints) != 0;
    if (w->compare == 1) wrong |= 2 * (memcmp(r->want, r->room, 4 * r->ints) != 0);
    if (w->compare == 2)
        for (int i = 0; i < 2 * s->counts[w->p->rank]; i++) {
            int *x = r->origin + i / 2 * shapes[r->shape].extent +
                     (i % 2 ? shapes[r->shape].second : shapes[r->shape].first);
            wrong |= 4 * (*x != r->want[x - r->room]);
        }
    if (!CHECK_EQ(wrong, 0))
        fprintf(stderr, "step %d, round %d: %s, n %d, root %d, in place %d, inter %d, op %d, shapes %d %d, size %d\n",
                w->step, w->round, names[w->kind], w->n, w->root, w->in_place, w->p->inter, w->op, s->shape, r->shape,
                w->p->size);
}

/* Nothing lies nowhere. */
static void *address(const side *s)
{
    int total = 0;
    for (int k = 0; k < s->blocks; k++) total += s->counts[k];
    return total ? s->origin : NULL;
}

/* The forms of a call, three with counts of one width and three with the other. */
#define SMALL(call, icall, ...)                                                                                  \
    if (form == 0) MUST(MPI_##call(__VA_ARGS__, c));                                                             \
    if (form == 2) MUST(MPI_##icall(__VA_ARGS__, c, q));                                                         \
    if (form == 4) MUST(MPI_##call##_init(__VA_ARGS__, c, MPI_INFO_NULL, q))
#define LARGE(call, icall, ...)                                                                                  \
    if (form == 1) MUST(MPI_##call##_c(__VA_ARGS__, c));                                                         \
    if (form == 3) MUST(MPI_##icall##_c(__VA_ARGS__, c, q));                                                     \
    if (form == 5) MUST(MPI_##call##_init_c(__VA_ARGS__, c, MPI_INFO_NULL, q))
#define BOTH(call, icall, ...)                                                                                   \
    SMALL(call, icall, __VA_ARGS__);                                                                             \
    LARGE(call, icall, __VA_ARGS__)

/* What is not significant is given as nothing. */
static void call(work *w, int form)
{
    MPI_Comm c = w->p->comm;
    MPI_Request *q = &w->request;
    side *s = &w->send, *r = &w->recv;
    int root = root_argument(w), plain_s = s->shape == PLAIN && chance(2), plain_r = r->shape == PLAIN && chance(2);
    if (vector_kind(w)) plain_s = plain_s && s->blocks == 1, plain_r = plain_r && r->blocks == 1;
    int in_place = w->in_place && (!rooted(w) || is_root(w));
    int sn = s->blocks ? s->counts[0] << plain_s : 0, rn = r->blocks ? r->counts[0] << plain_r : 0;
    MPI_Datatype st = s->blocks ? plain_s ? MPI_INT : types[s->shape] : MPI_DATATYPE_NULL;
    MPI_Datatype rt = r->blocks ? plain_r ? MPI_INT : types[r->shape] : MPI_DATATYPE_NULL;
    void *sb = address(s), *rb = address(r);
    int *sc = s->counts, *sd = s->displs, *rc = r->counts, *rd = r->displs;
    MPI_Count *sl = s->large, *rl = r->large;
    MPI_Aint *sw = s->wide, *rw = r->wide;
    if (!s->blocks) sc = sd = NULL, sl = NULL, sw = NULL;
    if (!r->blocks) rc = rd = NULL, rl = NULL, rw = NULL;
    if (in_place && w->kind >= SCATTER && w->kind <= SCATTERV) rb = MPI_IN_PLACE, rn = 0, rt = MPI_DATATYPE_NULL;
    else if (in_place) sb = MPI_IN_PLACE, sn = 0, st = MPI_DATATYPE_NULL, sc = sd = NULL, sl = NULL, sw = NULL;
    /* Reductions have one count and type. */
    MPI_Op op = ops[w->op];
    MPI_Datatype t = w->op < LOC ? MPI_INT : w->op == LOC ? MPI_2INT : types[w->vary % SHAPES];
    int m = w->op < LOC ? 2 * w->n : w->n, twice = w->op < LOC ? 2 : 1;
    if (w->kind >= REDUCE) {
        int any = w->n > 0;
        if (w->kind == REDUCE_SCATTER || w->kind == REDUCE_SCATTER_BLOCK)
            for (int k = 0; k < s->blocks; k++) w->twice_large[k] = w->twice[k] = twice * s->counts[k];
        else if (sb != MPI_IN_PLACE) sb = s->blocks && any ? s->origin : NULL;
    }
    switch (w->kind) {
    case BARRIER:
        if (form < 2) MUST(MPI_Barrier(c));
        else if (form < 4) MUST(MPI_Ibarrier(c, q));
        else MUST(MPI_Barrier_init(c, MPI_INFO_NULL, q));
        break;
    case BCAST: BOTH(Bcast, Ibcast, rb, rn, rt, root); break;
    case GATHER: BOTH(Gather, Igather, sb, sn, st, rb, rn, rt, root); break;
    case GATHERV:
        SMALL(Gatherv, Igatherv, sb, sn, st, rb, rc, rd, types[r->shape], root);
        LARGE(Gatherv, Igatherv, sb, sn, st, rb, rl, rw, types[r->shape], root);
        break;
    case SCATTER: BOTH(Scatter, Iscatter, sb, sn, st, rb, rn, rt, root); break;
    case SCATTERV:
        SMALL(Scatterv, Iscatterv, sb, sc, sd, types[s->shape], rb, rn, rt, root);
        LARGE(Scatterv, Iscatterv, sb, sl, sw, types[s->shape], rb, rn, rt, root);
        break;
    case ALLGATHER: BOTH(Allgather, Iallgather, sb, sn, st, rb, rn, rt); break;
    case ALLGATHERV:
        SMALL(Allgatherv, Iallgatherv, sb, sn, st, rb, rc, rd, types[r->shape]);
        LARGE(Allgatherv, Iallgatherv, sb, sn, st, rb, rl, rw, types[r->shape]);
        break;
    case ALLTOALL: BOTH(Alltoall, Ialltoall, sb, sn, st, rb, rn, rt); break;
    case ALLTOALLV:
        st = in_place ? MPI_DATATYPE_NULL : types[s->shape];
        SMALL(Alltoallv, Ialltoallv, sb, sc, sd, st, rb, rc, rd, types[r->shape]);
        LARGE(Alltoallv, Ialltoallv, sb, sl, sw, st, rb, rl, rw, types[r->shape]);
        break;
    case ALLTOALLW: {
        MPI_Datatype *se = in_place ? NULL : s->each;
        int *sy = in_place ? NULL : s->bytes;
        SMALL(Alltoallw, Ialltoallw, sb, sc, sy, se, rb, rc, r->bytes, r->each);
        LARGE(Alltoallw, Ialltoallw, sb, sl, sw, se, rb, rl, rw, r->each);
        break;
    }
    case REDUCE: BOTH(Reduce, Ireduce, sb, rb, m, t, op, root); break;
    case ALLREDUCE: BOTH(Allreduce, Iallreduce, sb, rb, m, t, op); break;
    case REDUCE_SCATTER:
        SMALL(Reduce_scatter, Ireduce_scatter, sb, rb, w->twice, t, op);
        LARGE(Reduce_scatter, Ireduce_scatter, sb, rb, w->twice_large, t, op);
        break;
    case REDUCE_SCATTER_BLOCK: BOTH(Reduce_scatter_block, Ireduce_scatter_block, sb, rb, m, t, op); break;
    case SCAN: BOTH(Scan, Iscan, sb, rb, m, t, op); break;
    default: BOTH(Exscan, Iexscan, sb, rb, m, t, op); break;
    }
}

static void end(work *w)
{
    verify(w);
    release(&w->send), release(&w->recv);
    free(w);
}

/* Takes what has ended out of the list. */
static void sweep(void)
{
    int kept = 0;
    for (int k = 0; k < pending_count; k++) {
        work *w = pending[k];
        int ended = requests[k] == MPI_REQUEST_NULL;
        if (ended) end(w);
        else pending[kept] = w, requests[kept++] = requests[k];
    }
    pending_count = kept;
}

static void complete_some(void)
{
    int index, done, indices[PENDING_MAX];
    MPI_Status status, statuses[PENDING_MAX];
    switch (chance(8)) {
    case 0:
        if (pending_count) MUST(MPI_Wait(&requests[chance(pending_count)], &status));
        break;
    case 1: MUST(MPI_Waitany(pending_count, requests, &index, &status)); break;
    case 2: MUST(MPI_Testany(pending_count, requests, &index, &done, &status)); break;
    case 3: MUST(MPI_Testsome(pending_count, requests, &done, indices, statuses)); break;
    case 4: MUST(MPI_Waitsome(pending_count, requests, &done, indices, statuses)); break;
    case 5: MUST(MPI_Testall(pending_count, requests, &done, statuses)); break;
    case 6:
        if (chance(4) == 0) MUST(MPI_Waitall(pending_count, requests, MPI_STATUSES_IGNORE));
        break;
    default:
        if (pending_count) MUST(MPI_Request_get_status(requests[chance(pending_count)], &done, &status));
    }
    sweep();
}

static work *new_work(int number)
{
    static const int lengths[] = {0, 1, 1, 2, 3, 5, 7, 12, 30, 100, 100, 513, 1000, 2500, 9000};
    work *w = check_alloc(sizeof *w);
    memset(w, 0, sizeof *w);
    w->p = &places[pick(place_count)];
    w->step = number, w->kind = (enum kind)pick(KINDS);
    w->n = lengths[pick(sizeof lengths / sizeof *lengths)];
    w->root = pick(1000), w->vary = pick(1000), w->in_place = pick(3) == 0, w->op = pick(OPS);
    w->request = MPI_REQUEST_NULL;
    return w;
}

/* A ring of messages beside all else, on the same communicator. */
static void messages(int number)
{
    MPI_Request q[2];
    int distance = 1 + number % 5, n = number % 7 * 900 + 1, *out = check_alloc(4 * n), *in = check_alloc(4 * n);
    int to = (check_rank + distance) % check_size, from = (check_rank + check_size * 5 - distance) % check_size;
    for (int i = 0; i < n; i++) out[i] = check_rank * 31 + number + i;
    MUST(MPI_Isend(out, n, MPI_INT, to, number, MPI_COMM_WORLD, &q[0]));
    if (chance(2)) complete_some();
    MUST(MPI_Irecv(in, n, MPI_INT, from, number, MPI_COMM_WORLD, &q[1]));
    if (chance(2)) complete_some();
    MUST(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += in[i] != from * 31 + number + i;
    CHECK_EQ(wrong, 0);
    free(out), free(in);
}

static void start_persistent(int k)
{
    work *w = persistents[k];
    MUST(MPI_Wait(&w->request, MPI_STATUS_IGNORE));
    if (w->round++ > 0) verify(w);
    fill(w);
    if (chance(2)) MUST(MPI_Start(&w->request));
    else MUST(MPI_Startall(1, &w->request));
}

static void drop_persistent(int k)
{
    work *w = persistents[k];
    persistents[k] = NULL;
    if (!w) return;
    MUST(MPI_Wait(&w->request, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&w->request));
    if (w->round == 0) fill(w), w->compare = 0, memcpy(w->send.want, w->send.room, 4 * w->send.ints);
    end(w);
}

static int legal(const work *w)
{
    if (!w->p->inter) return 1;
    if (w->kind >= SCAN || w->kind == REDUCE_SCATTER) return 0;
    return 1;
}

static void step(int number)
{
    work *w = new_work(number);
    int form = pick(10), slot = pick(PER_PLACE), again = pick(3);
    slot += PER_PLACE * (int)(w->p - places);
    if (pick(12) == 0) messages(number);
    if (w->p->comm == MPI_COMM_NULL) {
        free(w);
        return;
    }
    if (!legal(w)) w->kind = ALLREDUCE;
    if (w->p->inter) w->in_place = 0;
    /* Both groups of an intercommunicator must have as many elements. */
    if (w->p->inter && w->kind == REDUCE_SCATTER_BLOCK) {
        if (w->p->size != w->p->peers) w->kind = ALLTOALL;
    }
    if (w->in_place && (w->kind == BARRIER || w->kind == BCAST)) w->in_place = 0;
    if (w->op == LOC) w->vary = w->vary / SHAPES * SHAPES;
    make_sides(w);
    fill(w);
    if (form < 4) {
        call(w, form % 2);
        end(w);
    } else if (form < 8) {
        while (pending_count == PENDING_MAX) complete_some();
        call(w, 2 + form % 2);
        requests[pending_count] = w->request, pending[pending_count++] = w;
    } else {
        if (persistents[slot] && again) {
            release(&w->send), release(&w->recv), free(w);
            start_persistent(slot);
            return;
        }
        drop_persistent(slot);
        persistents[slot] = w;
        call(w, 4 + form % 2);
        start_persistent(slot);
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 1200;
    check_init(&argc, &argv);
    shared = argc > 2 ? (uint64_t)atoll(argv[2]) << 32 : 0;
    own = shared + ((uint64_t)check_rank + 1) * 10000000;
    make_types();
    make_places();
    ops[SUM] = MPI_SUM, ops[MAX] = MPI_MAX, ops[XOR] = MPI_BXOR, ops[LOC] = MPI_MINLOC;
    MPI_Op_create(chain, 0, &ops[CHAIN]), MPI_Op_create_c(commuting, 1, &ops[COMMUTING]);
    for (int k = 0; k < steps; k++) {
        step(k);
        if (chance(3) == 0) complete_some();
    }
    while (pending_count) complete_some();
    for (int k = 0; k < COMMS_MAX * PER_PLACE; k++) drop_persistent(k);
    MPI_Op_free(&ops[CHAIN]), MPI_Op_free(&ops[COMMUTING]);
    for (int s = 0; s < SHAPES; s++) MPI_Type_free(&types[s]);
    return check_finish();
}
