/* Gathers, scatters and all-to-alls whose blocks have very different lengths (MPI-5.0 sections 6.5, 6.6 and 6.8): each
 * is drawn anew for each call, from none to what the kernel copies, next to one another in one call. Types without and
 * with gaps at either side, in place, and equal blocks of the same lengths. At the end lengths that differ. Arguments:
 * how many calls, and the seed.
 * ranks: 2 3 4 5 8 16
 */
#include "check.h"

/* Ints of a block: in a flag's line, just beyond, in an eager slot, just beyond, by a message, by the kernel. */
static const int lengths[] = {0, 1, 10, 11, 12, 13, 100, 1024, 2048, 2049, 5000, 16384, 40000, 70000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, RANKS_MAX = 64, GAP = 3 };

static uint64_t shared;
static MPI_Datatype spread;

/* Where blocks lie in a buffer: every int of it, or one of GAP. */
typedef struct {
    int *base;
    int stride;
    MPI_Datatype type;
} side;

static int counts[RANKS_MAX], displs[RANKS_MAX], ints;

static int pick(int limit) { return (int)check_random(&shared, (uint64_t)limit); }

/* Draws the lengths of a call: `longest` of them may be drawn. */
static void draw(int longest, int equal)
{
    ints = 0;
    for (int rank = 0; rank < check_size; rank++) {
        counts[rank] = equal && rank ? counts[0] : lengths[pick(longest)];
        displs[rank] = ints;
        ints += counts[rank] + (equal ? 0 : pick(3));
    }
}

static side make(int n, int gaps)
{
    side made = {NULL, gaps ? GAP : 1, gaps ? spread : MPI_INT};
    size_t bytes = sizeof(int) * ((size_t)n * (size_t)made.stride + 1);
    made.base = check_alloc(bytes);
    memset(made.base, 0xEE, bytes);
    return made;
}

static int word(int call, int rank, int i) { return call * 7919 + rank * 1000003 + i; }

static void fill(side to, int first, int call, int rank)
{
    for (int i = 0; i < counts[rank]; i++) to.base[(first + i) * to.stride] = word(call, rank, i);
}

static long wrong(side of, int first, int call, int rank)
{
    long bad = 0;
    for (int i = 0; i < counts[rank]; i++) bad += of.base[(first + i) * of.stride] != word(call, rank, i);
    return bad;
}

/* Ints of a buffer that nobody was to write. */
static long touched(side of, int n)
{
    long bad = 0, blank;
    memset(&blank, 0xEE, sizeof blank);
    for (int at = 0; at < n * of.stride; at++) {
        int is_block = at % of.stride == 0, i = at / of.stride, within = 0;
        for (int rank = 0; rank < check_size && is_block; rank++)
            within |= i >= displs[rank] && i < displs[rank] + counts[rank];
        bad += !within && of.base[at] != (int)blank;
    }
    return bad;
}

static void gather(int call, int root, int equal, int in_place)
{
    int mine = counts[check_rank], is_root = check_rank == root;
    side own = make(mine, pick(2) ^ (check_rank & 1)), all = make(is_root ? ints : 0, pick(3) == 0);
    fill(own, 0, call, check_rank);
    const void *from = own.base;
    if (is_root && in_place) fill(all, displs[root], call, root), from = MPI_IN_PLACE;
    if (equal)
        MUST(MPI_Gather(from, mine, own.type, all.base, counts[0], all.type, root, MPI_COMM_WORLD));
    else
        MUST(MPI_Gatherv(from, mine, own.type, all.base, counts, displs, all.type, root, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size && is_root; rank++) CHECK_EQ(wrong(all, displs[rank], call, rank), 0);
    if (is_root) CHECK_EQ(touched(all, ints), 0);
    free(own.base), free(all.base);
}

static void scatter(int call, int root, int equal, int in_place)
{
    int mine = counts[check_rank], is_root = check_rank == root;
    side own = make(mine, pick(2) ^ (check_rank & 1)), all = make(is_root ? ints : 0, pick(3) == 0);
    for (int rank = 0; rank < check_size && is_root; rank++) fill(all, displs[rank], call, rank);
    void *into = is_root && in_place ? MPI_IN_PLACE : own.base;
    if (equal)
        MUST(MPI_Scatter(all.base, counts[0], all.type, into, mine, own.type, root, MPI_COMM_WORLD));
    else
        MUST(MPI_Scatterv(all.base, counts, displs, all.type, into, mine, own.type, root, MPI_COMM_WORLD));
    if (into == own.base) CHECK_EQ(wrong(own, 0, call, check_rank), 0);
    free(own.base), free(all.base);
}

/* All-to-all: ints from each rank to each. */
static int pairs[RANKS_MAX][RANKS_MAX];

/* This rank's counts and displacements, for all others or from all others; how many ints that is. */
static int row(int of[RANKS_MAX], int at[RANKS_MAX], int sends)
{
    int n = 0;
    for (int rank = 0; rank < check_size; rank++) {
        of[rank] = sends ? pairs[check_rank][rank] : pairs[rank][check_rank];
        at[rank] = n, n += of[rank];
    }
    return n;
}

static void exchange(int call, int longest)
{
    static int sent[RANKS_MAX], from[RANKS_MAX], came[RANKS_MAX], into[RANKS_MAX];
    for (int rank = 0; rank < check_size; rank++)
        for (int dest = 0; dest < check_size; dest++) pairs[rank][dest] = lengths[pick(longest)];
    int ints_out = row(sent, from, 1), ints_in = row(came, into, 0);
    side out = make(ints_out, pick(4) == check_rank), in = make(ints_in, pick(4) == check_rank);
    for (int rank = 0; rank < check_size; rank++)
        for (int i = 0; i < sent[rank]; i++)
            out.base[(from[rank] + i) * out.stride] = word(call, check_rank * check_size + rank, i);
    MUST(MPI_Alltoallv(out.base, sent, from, out.type, in.base, came, into, in.type, MPI_COMM_WORLD));
    long bad = 0;
    for (int rank = 0; rank < check_size; rank++)
        for (int i = 0; i < came[rank]; i++)
            bad += in.base[(into[rank] + i) * in.stride] != word(call, rank * check_size + check_rank, i);
    CHECK_EQ(bad, 0);
    free(out.base), free(in.base);
}

/* Rank 1 sends to rank 0 another number of ints than that expects, and others send what they say. */
static void exchange_unlike(int is_sent, int expected)
{
    static int sent[RANKS_MAX], from[RANKS_MAX], came[RANKS_MAX], into[RANKS_MAX];
    for (int rank = 0; rank < check_size; rank++)
        for (int dest = 0; dest < check_size; dest++) pairs[rank][dest] = 5;
    pairs[1][0] = check_rank == 1 ? is_sent : expected;
    side out = make(row(sent, from, 1), 0), in = make(row(came, into, 0), 0);
    int code = MPI_Alltoallv(out.base, sent, from, MPI_INT, in.base, came, into, MPI_INT, MPI_COMM_WORLD);
    CHECK_EQ(code, is_sent != expected && check_rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    free(out.base), free(in.base);
}

/* Rank 1's block has one length at its sender and another one at its receiver, which is told. The other blocks arrive,
 * and nobody is left waiting. */
static void unlike(int sent, int expected)
{
    int wrong_rank = 1, is_root = check_rank == 0, differ = sent != expected;
    for (int scatters = 0; scatters < 2; scatters++) {
        ints = 0;
        for (int rank = 0; rank < check_size; rank++) {
            int at_root = scatters ? sent : expected;
            counts[rank] = rank == wrong_rank ? at_root : 5, displs[rank] = ints, ints += counts[rank];
        }
        int mine = check_rank == wrong_rank ? (scatters ? expected : sent) : 5;
        side own = make(mine, 0), all = make(ints, 0);
        int told = scatters ? check_rank == wrong_rank : is_root;
        int code = scatters
            ? MPI_Scatterv(all.base, counts, displs, MPI_INT, own.base, mine, MPI_INT, 0, MPI_COMM_WORLD)
            : MPI_Gatherv(own.base, mine, MPI_INT, all.base, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK_EQ(code, differ && told ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        free(own.base), free(all.base);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 300;
    shared = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    MUST(MPI_Type_create_resized(MPI_INT, 0, GAP * sizeof(int), &spread));
    MUST(MPI_Type_commit(&spread));
    for (int call = 0; call < calls; call++) {
        int equal = pick(4) == 0, root = pick(check_size), in_place = pick(4) == 0;
        /* Most calls are short at all ranks, as those of programs are. */
        int longest = pick(2) ? 8 : LENGTHS;
        draw(longest, equal);
        if (pick(3) == 0)
            exchange(call, longest);
        else if (pick(2))
            gather(call, root, equal, in_place);
        else
            scatter(call, root, equal, in_place);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int sent = 1; sent < LENGTHS && check_size > 1 && !check_compares_collectives(); sent++)
        for (int expected = 1; expected < LENGTHS; expected++) {
            unlike(lengths[sent], lengths[expected]);
            exchange_unlike(lengths[sent], lengths[expected]);
        }
    MUST(MPI_Type_free(&spread));
    return check_finish();
}
