/* Random transfers in random epochs against a sequential oracle (MPI-5.0 chapter 12). All ranks draw the same numbers,
 * so each knows what every rank does and what all memory holds afterwards.
 * ranks: 1 2 3 5
 * timeout: 90
 */
#include "check.h"

enum { PHASES = 60, OPERATIONS = 12, OWN = 40, COMMON = 24, RANKS_MAX = 8 };
enum { PUT, GET, REPLACE, SWAP, SUM, MAXIMUM, XOR, KINDS };

/* Of each rank: a part for each origin, which nobody else changes, and one in which all combine elements. */
enum { LONGS = RANKS_MAX * OWN + COMMON };

static MPI_Win win;
static long *memory, expected[RANKS_MAX][LONGS];
static uint64_t drawn;

static unsigned draw(unsigned below)
{
    return (unsigned)(check_word(77, drawn++) >> 33) % below;
}

/* Every second element of `columns` at the target, or all. */
struct transfer { int kind, target, first, count, stride; long values[OWN]; };

static struct transfer draw_transfer(int origin, int combined)
{
    struct transfer t = { .kind = draw(SUM), .target = draw(check_size), .count = 1 + draw(8), .stride = 1 + draw(2) };
    int room = OWN, start = origin * OWN;
    if (draw(3) == 0) t.kind = combined, room = COMMON, start = RANKS_MAX * OWN;
    if (t.kind == SWAP) t.count = 1;
    t.first = start + draw(room - t.count * t.stride + 1);
    for (int i = 0; i < t.count; i++) t.values[i] = draw(1000);
    return t;
}

/* What the transfer does to the memory of all ranks, in the oracle's. */
static void foresee(const struct transfer *t, long *found)
{
    for (int i = 0; i < t->count; i++) {
        long *there = &expected[t->target][t->first + i * t->stride], mine = t->values[i];
        found[i] = *there;
        switch (t->kind) {
        case PUT: case REPLACE: case SWAP: *there = mine; break;
        case SUM: *there += mine; break;
        case MAXIMUM: *there = mine > *there ? mine : *there; break;
        case XOR: *there ^= mine; break;
        }
    }
}

static void perform(struct transfer *t, const long *found)
{
    const MPI_Op ops[KINDS] = { [REPLACE] = MPI_REPLACE, [SUM] = MPI_SUM, [MAXIMUM] = MPI_MAX, [XOR] = MPI_BXOR };
    long seen[OWN] = { 0 };
    MPI_Datatype type;
    MUST(MPI_Type_vector(t->count, 1, t->stride, MPI_LONG, &type));
    MUST(MPI_Type_commit(&type));
    int n = t->count, checked = 1;
    switch (t->kind) {
    case PUT: MUST(MPI_Put(t->values, n, MPI_LONG, t->target, t->first, 1, type, win)), checked = 0; break;
    case GET: MUST(MPI_Get(seen, n, MPI_LONG, t->target, t->first, 1, type, win)); break;
    case SWAP: {
        long compared = found[0];
        MUST(MPI_Compare_and_swap(t->values, &compared, seen, MPI_LONG, t->target, t->first, win));
        break;
    }
    case REPLACE:
        MUST(MPI_Get_accumulate(t->values, n, MPI_LONG, seen, n, MPI_LONG, t->target, t->first, 1, type, MPI_REPLACE,
                                win));
        break;
    default:
        MUST(MPI_Accumulate(t->values, n, MPI_LONG, t->target, t->first, 1, type, ops[t->kind], win)), checked = 0;
    }
    MUST(MPI_Type_free(&type));
    for (int i = 0; checked && i < n; i++) CHECK_EQ(seen[i], found[i]);
}

/* All ranks are both origin and target of everybody. */
static void begin(int epoch)
{
    MPI_Group all;
    MUST(MPI_Win_get_group(win, &all));
    if (epoch == 0) MUST(MPI_Win_fence(0, win));
    if (epoch == 1) MUST(MPI_Win_post(all, 0, win)), MUST(MPI_Win_start(all, 0, win));
    if (epoch == 2) MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Group_free(&all));
}

static void end(int epoch)
{
    if (epoch == 0) MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (epoch == 1) MUST(MPI_Win_complete(win)), MUST(MPI_Win_wait(win));
    if (epoch == 2) MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void phase(void)
{
    int epoch = draw(4), combined = SUM + draw(KINDS - SUM);
    begin(epoch);
    for (int origin = 0; origin < check_size; origin++) {
        for (int i = 0; i < OPERATIONS; i++) {
            struct transfer t = draw_transfer(origin, combined);
            int kind = draw(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, flushes = draw(2);
            long found[OWN];
            foresee(&t, found);
            if (origin != check_rank) continue;
            if (epoch == 3) MUST(MPI_Win_lock(kind, t.target, 0, win));
            perform(&t, found);
            if (epoch >= 2 && flushes) MUST(MPI_Win_flush(t.target, win));
            if (epoch == 3) MUST(MPI_Win_unlock(t.target, win));
        }
    }
    end(epoch);
    MUST(MPI_Win_sync(win));
    for (int i = 0; i < LONGS; i++) CHECK_EQ(memory[i], expected[check_rank][i]);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void phases(void)
{
    memset(expected, 0, sizeof expected);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < PHASES; i++) phase();
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const MPI_Aint bytes = LONGS * sizeof(long);
    check_init(&argc, &argv);
    MUST(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    phases();
    MUST(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    phases();
    long *own = memory = check_alloc(bytes);
    memset(own, 0, bytes);
    MUST(MPI_Win_create(own, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    phases();
    free(own);
    return check_finish();
}
