/* Accumulation: every operation on every kind of type, atomic for each element, over all ways (MPI-5.0
 * sections 12.3.3, 12.3.4 and 12.7.1); transfers of derived datatypes.
 * ranks: 1 2 4
 * timeout: 90
 */
#include "check.h"

enum { ROUNDS = 500, ELEMENTS = 64 };

static MPI_Win win;
static char *memory;

struct pair { double value; int index; };

/* Each rank adds to the same elements at once: nothing is lost, whatever the type. */
#define CONTEND(type, mpi_type, start)                                                                        \
    do {                                                                                                      \
        type *there = (type *)memory, mine[ELEMENTS], old[ROUNDS / 3 + 1][ELEMENTS];                          \
        for (int i = 0; i < ELEMENTS; i++) there[i] = (start), mine[i] = 1;                                   \
        MUST(MPI_Win_fence(0, win));                                                                          \
        for (int round = 0; round < ROUNDS; round++) {                                                        \
            if (round % 3)                                                                                    \
                MUST(MPI_Accumulate(mine, ELEMENTS, mpi_type, 0, 0, ELEMENTS, mpi_type, MPI_SUM, win));       \
            else                                                                                              \
                MUST(MPI_Get_accumulate(mine, ELEMENTS, mpi_type, old[round / 3], ELEMENTS, mpi_type, 0, 0,   \
                                        ELEMENTS, mpi_type, MPI_SUM, win));                                   \
        }                                                                                                     \
        MUST(MPI_Win_fence(0, win));                                                                          \
        if (check_rank == 0)                                                                                  \
            for (int i = 0; i < ELEMENTS; i++) CHECK(there[i] == (type)((start) + ROUNDS * check_size));      \
        MUST(MPI_Win_fence(0, win));                                                                          \
    } while (0)

/* A counter that gives every number out once. */
static void tickets(void)
{
    int *seen = check_alloc(sizeof(int) * ROUNDS * check_size), *all = check_alloc(sizeof(int) * ROUNDS * check_size);
    memset(seen, 0, sizeof(int) * ROUNDS * check_size);
    *(int *)memory = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) {
        int one = 1, ticket = -1;
        MUST(MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, win));
        MUST(MPI_Win_flush(0, win));
        if (CHECK(ticket >= 0 && ticket < ROUNDS * check_size)) seen[ticket]++;
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Allreduce(seen, all, ROUNDS * check_size, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS * check_size; i++) CHECK_EQ(all[i], 1);
    free(seen), free(all);
}

/* Many elements at once, while others combine single ones among them. */
static void many_and_few(void)
{
    enum { MANY = 16384, TURNS = 40, FEW = 200 };
    double *there = (double *)memory, *mine = check_alloc(MANY * sizeof(double)), one = 1;
    /* Each access has memory of its own for what it gets: they are open until the fence. */
    double *old = check_alloc(TURNS * FEW * sizeof(double)), *seen = check_alloc(TURNS * MANY * sizeof(double));
    for (int i = 0; i < MANY; i++) there[i] = 0, mine[i] = 2;
    MUST(MPI_Win_fence(0, win));
    for (int round = 0; round < TURNS; round++) {
        MUST(MPI_Accumulate(mine, MANY, MPI_DOUBLE, 0, 0, MANY, MPI_DOUBLE, MPI_SUM, win));
        for (int i = 0; i < FEW; i++)
            MUST(MPI_Fetch_and_op(&one, &old[round * FEW + i], MPI_DOUBLE, 0, (MPI_Aint)sizeof(double) * (i % 7),
                                  MPI_SUM, win));
        MUST(MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, seen + (size_t)round * MANY, MANY, MPI_DOUBLE, 0, 0, MANY,
                                MPI_DOUBLE, MPI_NO_OP, win));
    }
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; check_rank == 0 && i < MANY; i++) {
        int singles = i < 7 ? FEW / 7 + (i < FEW % 7) : 0;
        CHECK(there[i] == (double)TURNS * check_size * (2 + singles));
    }
    MUST(MPI_Win_fence(0, win));
    free(mine), free(old), free(seen);
}

/* A lock made of compare-and-swap guards a counter that is not atomic. */
static void swaps(void)
{
    long *words = (long *)memory;
    words[0] = words[1] = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 50; round++) {
        long mine = check_rank + 1, none = 0, found;
        do {
            MUST(MPI_Compare_and_swap(&mine, &none, &found, MPI_LONG, 0, 0, win));
            MUST(MPI_Win_flush(0, win));
        } while (found != 0);
        long count;
        MUST(MPI_Get(&count, 1, MPI_LONG, 0, 8, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        count++;
        MUST(MPI_Put(&count, 1, MPI_LONG, 0, 8, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        MUST(MPI_Fetch_and_op(&none, &found, MPI_LONG, 0, 0, MPI_REPLACE, win));
        MUST(MPI_Win_flush(0, win));
        CHECK_EQ(found, mine);
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) CHECK_EQ(words[1], 50 * check_size);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void operations(void)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR,
                          MPI_LAND, MPI_LOR, MPI_LXOR, MPI_REPLACE, MPI_NO_OP};
    const int results[] = {16, 60, 10, 6, 2, 14, 12, 1, 1, 0, 6, 10};
    int *there = (int *)memory, target = (check_rank + 1) % check_size, six = 6;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int old = -1;
        *there = 10;
        MUST(MPI_Win_fence(0, win));
        MUST(MPI_Get_accumulate(&six, 1, MPI_INT, &old, 1, MPI_INT, target, 0, 1, MPI_INT, ops[i], win));
        MUST(MPI_Win_fence(0, win));
        CHECK_EQ(old, 10);
        CHECK_EQ(*there, results[i]);
        MUST(MPI_Win_fence(0, win));
    }
}

/* One element and several, where an epoch is open already, and nothing of the origin where no operation needs it. */
static void in_an_open_epoch(void)
{
    enum { SOME = 5 };
    long *there = (long *)memory, mine[SOME], old[SOME];
    int target = (check_rank + 1) % check_size;
    for (int i = 0; i < SOME; i++) there[i] = 10 * i, mine[i] = i + 1;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    for (int n = 1; n <= SOME; n += SOME - 1)
        for (int round = 0; round < 3; round++) {
            long before = n == 1 ? 0 : 3;
            for (int i = 0; i < SOME; i++) old[i] = -1;
            MUST(MPI_Get_accumulate(mine, n, MPI_LONG, old, n, MPI_LONG, target, 0, n, MPI_LONG, MPI_SUM, win));
            MUST(MPI_Win_flush(target, win));
            for (int i = 0; i < n; i++)
                CHECK_EQ(old[i], 10 * i + round * mine[i] + (i == 0 ? before : 0));
            CHECK(n == SOME || old[n] == -1);
            MUST(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, old, n, MPI_LONG, target, 0, n, MPI_LONG, MPI_NO_OP,
                                    win));
            MUST(MPI_Win_flush(target, win));
            for (int i = 0; i < n; i++)
                CHECK_EQ(old[i], 10 * i + (round + 1) * mine[i] + (i == 0 ? before : 0));
        }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* The place of the least value, whose elements have padding. */
static void places(void)
{
    struct pair *there = (struct pair *)memory, mine[3];
    for (int i = 0; i < 3; i++) {
        there[i] = (struct pair){100 + i, -1};
        mine[i] = (struct pair){50 - check_rank + i, check_rank};
    }
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(mine, 3, MPI_DOUBLE_INT, 0, 0, 3, MPI_DOUBLE_INT, MPI_MINLOC, win));
    MUST(MPI_Win_fence(0, win));
    if (check_rank == 0)
        for (int i = 0; i < 3; i++) {
            CHECK(there[i].value == 50 - (check_size - 1) + i);
            CHECK_EQ(there[i].index, check_size - 1);
        }
    MUST(MPI_Win_fence(0, win));
}

/* The same of every second element at the target, and what was there. */
static void places_apart(void)
{
    struct pair *there = (struct pair *)memory, mine[3], old[3];
    MPI_Datatype second;
    MUST(MPI_Type_vector(3, 1, 2, MPI_DOUBLE_INT, &second));
    MUST(MPI_Type_commit(&second));
    for (int i = 0; i < 6; i++) there[i] = (struct pair){check_rank + i, i};
    for (int i = 0; i < 3; i++) mine[i] = (struct pair){check_rank + 2 * i + 0.5, 100 + i};
    int next = (check_rank + 1) % check_size;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(mine, 3, MPI_DOUBLE_INT, old, 3, MPI_DOUBLE_INT, next, 0, 1, second, MPI_MAXLOC, win));
    MUST(MPI_Win_fence(0, win));
    int previous = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < 3; i++) {
        double theirs = previous + 2 * i + 0.5;
        CHECK(old[i].value == next + 2 * i && old[i].index == 2 * i);
        CHECK(there[2 * i].value == (theirs > check_rank + 2 * i ? theirs : check_rank + 2 * i));
        CHECK_EQ(there[2 * i].index, theirs > check_rank + 2 * i ? 100 + i : 2 * i);
        CHECK(there[2 * i + 1].value == check_rank + 2 * i + 1 && there[2 * i + 1].index == 2 * i + 1);
    }
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Type_free(&second));
}

/* Columns here, rows there, and the other way round. */
static void columns(void)
{
    enum { N = 8 };
    int *there = (int *)memory, mine[N][N], back[N][N], next = (check_rank + 1) % check_size;
    MPI_Datatype column, columns;
    MUST(MPI_Type_vector(N, 1, N, MPI_INT, &column));
    MUST(MPI_Type_create_resized(column, 0, sizeof(int), &columns));
    MUST(MPI_Type_commit(&columns));
    for (int i = 0; i < N * N; i++) there[i] = 0, mine[i / N][i % N] = 100 * check_rank + i, back[i / N][i % N] = -1;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(mine, N, columns, next, 0, N * N, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    int previous = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < N * N; i++) CHECK_EQ(there[i], 100 * previous + i % N * N + i / N);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get(back, N * N, MPI_INT, next, 0, N, columns, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N * N; i++) CHECK_EQ(back[i / N][i % N], 100 * check_rank + i);
    MUST(MPI_Accumulate(mine, N, columns, next, 0, N, columns, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N * N; i++) CHECK_EQ(there[i], 200 * previous + i % N * N + i / N + i);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Type_free(&column)), MUST(MPI_Type_free(&columns));
}

/* Nobody, nothing, and large. */
static void lengths(size_t bytes)
{
    int none = 0;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(&none, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    MUST(MPI_Get(&none, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    MUST(MPI_Accumulate(&none, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Put(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, win));
    char *mine = check_alloc(bytes), *back = check_alloc(bytes);
    check_fill(mine, bytes, check_rank);
    int next = (check_rank + 1) % check_size;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put_c(mine, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_c(back, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, win));
    MUST(MPI_Win_fence(0, win));
    CHECK(memcmp(mine, back, bytes) == 0);
    free(mine), free(back);
}

static void all(size_t bytes)
{
    CONTEND(long, MPI_LONG, 5);
    CONTEND(double, MPI_DOUBLE, 0.5);
    CONTEND(float, MPI_FLOAT, 1);
    CONTEND(short, MPI_SHORT, 2);
    CONTEND(unsigned char, MPI_UNSIGNED_CHAR, 3);
    CONTEND(long double, MPI_LONG_DOUBLE, 4);
    many_and_few();
    tickets();
    swaps();
    operations();
    in_an_open_epoch();
    places();
    places_apart();
    columns();
    lengths(bytes);
}

int main(int argc, char **argv)
{
    const size_t bytes = 3 << 20;
    check_init(&argc, &argv);
    MUST(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    all(bytes);
    MUST(MPI_Win_free(&win));
    memory = check_alloc(bytes);
    MUST(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    all(bytes);
    MUST(MPI_Win_free(&win));
    free(memory);
    return check_finish();
}
