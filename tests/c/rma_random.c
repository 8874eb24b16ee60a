/* Random transfers in random epochs against a sequential oracle (MPI-5.0 chapter 12). All ranks draw the same numbers,
 * so each knows what every rank does and what all memory holds afterwards. TERN_TEST_SEED gives other programs; a
 * failure names its seed.
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
static uint64_t seed = 77, drawn;

static unsigned draw(unsigned below)
{
    return (unsigned)(check_word(seed, drawn++) >> 33) % below;
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

/* What a rank has done since it last synchronized with a target: what conflicts with it must wait (section 12.7).
 * Accumulations of one origin stay in order. */
enum { READ = 1, WRITTEN, ACCUMULATED };
static char touched[RANKS_MAX][RANKS_MAX][LONGS];

static int may_follow(int origin, const struct transfer *t)
{
    int what = t->kind == GET ? READ : t->kind == PUT ? WRITTEN : ACCUMULATED;
    char *there = touched[origin][t->target] + t->first;
    for (int i = 0; i < t->count; i++)
        if (there[i * t->stride] && (there[i * t->stride] != what || what == WRITTEN)) return 0;
    for (int i = 0; i < t->count; i++) there[i * t->stride] = what;
    return 1;
}

/* Buffers stay as they are until the epoch ends. */
static struct transfer kept[OPERATIONS];
static long results[OPERATIONS][OWN], foreseen[OPERATIONS][OWN];

/* How many results there will be to check. */
static int perform(struct transfer *t, const long *found, long *seen)
{
    const MPI_Op ops[KINDS] = { [REPLACE] = MPI_REPLACE, [SUM] = MPI_SUM, [MAXIMUM] = MPI_MAX, [XOR] = MPI_BXOR };
    MPI_Datatype type;
    MUST(MPI_Type_vector(t->count, 1, t->stride, MPI_LONG, &type));
    MUST(MPI_Type_commit(&type));
    int n = t->count, checked = 1;
    switch (t->kind) {
    case PUT: MUST(MPI_Put(t->values, n, MPI_LONG, t->target, t->first, 1, type, win)), checked = 0; break;
    case GET: MUST(MPI_Get(seen, n, MPI_LONG, t->target, t->first, 1, type, win)); break;
    case SWAP: MUST(MPI_Compare_and_swap(t->values, found, seen, MPI_LONG, t->target, t->first, win)); break;
    case REPLACE:
        MUST(MPI_Get_accumulate(t->values, n, MPI_LONG, seen, n, MPI_LONG, t->target, t->first, 1, type, MPI_REPLACE,
                                win));
        break;
    default:
        MUST(MPI_Accumulate(t->values, n, MPI_LONG, t->target, t->first, 1, type, ops[t->kind], win)), checked = 0;
    }
    MUST(MPI_Type_free(&type));
    return checked ? n : 0;
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
    int epoch = draw(4), combined = SUM + draw(KINDS - SUM), checks[OPERATIONS] = { 0 };
    memset(touched, 0, sizeof touched);
    begin(epoch);
    for (int origin = 0; origin < check_size; origin++) {
        for (int i = 0; i < OPERATIONS; i++) {
            struct transfer t = draw_transfer(origin, combined);
            int kind = draw(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, flushes = draw(2);
            int common = t.first >= RANKS_MAX * OWN;
            if (!common && !may_follow(origin, &t)) continue;
            if (epoch == 3 || (epoch == 2 && flushes)) memset(touched[origin][t.target], 0, LONGS);
            long found[OWN];
            foresee(&t, found);
            if (origin != check_rank) continue;
            kept[i] = t;
            memcpy(foreseen[i], found, sizeof found);
            if (epoch == 3) MUST(MPI_Win_lock(kind, t.target, 0, win));
            checks[i] = perform(&kept[i], foreseen[i], results[i]);
            if (epoch >= 2 && flushes) MUST(MPI_Win_flush(t.target, win));
            if (epoch == 3) MUST(MPI_Win_unlock(t.target, win));
        }
    }
    end(epoch);
    MUST(MPI_Win_sync(win));
    for (int i = 0; i < OPERATIONS; i++)
        for (int j = 0; j < checks[i]; j++) CHECK_EQ(results[i][j], foreseen[i][j]);
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
    const char *given = getenv("TERN_TEST_SEED");
    check_init(&argc, &argv);
    if (given) seed = strtoull(given, NULL, 10);
    MUST(MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    MUST(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    phases();
    if (check_shares_memory()) {
        MUST(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        phases();
    }
    long *own = memory = check_alloc(bytes);
    memset(own, 0, bytes);
    MUST(MPI_Win_create(own, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    phases();
    free(own);
    if (check_failures) fprintf(stderr, "rma_random: this was TERN_TEST_SEED=%llu\n", (unsigned long long)seed);
    return check_finish();
}
