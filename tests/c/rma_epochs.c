/* Synchronization of windows: fence, post-start-complete-wait, locks, flush (MPI-5.0 section 12.5), over memory that is
 * mapped and memory that is not.
 * ranks: 2 3 8
 * timeout: 90
 */
#include "check.h"
#include <unistd.h>

enum { ROUNDS = 100 };

static MPI_Win win;
static long *memory;

/* Everybody writes to everybody's slot of its rank, round after round. */
static void fences(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MUST(MPI_Win_fence(round == 0 ? MPI_MODE_NOPRECEDE : 0, win));
        long value = 1000 * round + check_rank;
        for (int to = 0; to < check_size; to++)
            MUST(MPI_Put(&value, 1, MPI_LONG, to, check_rank, 1, MPI_LONG, win));
        MUST(MPI_Win_fence(MPI_MODE_NOSTORE, win));
        for (int from = 0; from < check_size; from++) CHECK_EQ(memory[from], 1000 * round + from);
    }
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Each rank exposes its memory to the one before it and accesses that of the one behind it. */
static void ring(int assert)
{
    MPI_Group all, before, behind;
    int previous = (check_rank + check_size - 1) % check_size, next = (check_rank + 1) % check_size;
    MUST(MPI_Win_get_group(win, &all));
    MUST(MPI_Group_incl(all, 1, &previous, &before));
    MUST(MPI_Group_incl(all, 1, &next, &behind));
    for (int round = 0; round < ROUNDS; round++) {
        if (assert) MUST(MPI_Barrier(MPI_COMM_WORLD));
        memory[3] = 9 * round + check_rank;
        MUST(MPI_Win_post(before, assert, win));
        /* Who says that nobody need ask, sees to it. */
        if (assert) MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_start(behind, assert, win));
        long value = 7 * round + check_rank, seen = -1;
        MUST(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
        MUST(MPI_Get(&seen, 1, MPI_LONG, next, 3, 1, MPI_LONG, win));
        MUST(MPI_Win_complete(win));
        CHECK_EQ(seen, 9 * round + next);
        if (round % 2) {
            MUST(MPI_Win_wait(win));
        } else {
            int flag = 0;
            while (!flag) MUST(MPI_Win_test(win, &flag));
        }
        CHECK_EQ(memory[0], 7 * round + previous);
    }
    MUST(MPI_Group_free(&all)), MUST(MPI_Group_free(&before)), MUST(MPI_Group_free(&behind));
}

/* All but rank 0 expose themselves; it comes late. */
static void star(void)
{
    MPI_Group all, others, first;
    int zero = 0;
    MUST(MPI_Win_get_group(win, &all));
    MUST(MPI_Group_excl(all, 1, &zero, &others));
    MUST(MPI_Group_incl(all, 1, &zero, &first));
    if (check_rank == 0) {
        usleep(100000);
        MUST(MPI_Win_start(others, 0, win));
        long values[16];
        for (int to = 1; to < check_size; to++) {
            values[to] = 50 + to;
            MUST(MPI_Put(&values[to], 1, MPI_LONG, to, 1, 1, MPI_LONG, win));
        }
        MUST(MPI_Win_complete(win));
    } else {
        MUST(MPI_Win_post(first, 0, win));
        MUST(MPI_Win_wait(win));
        CHECK_EQ(memory[1], 50 + check_rank);
    }
    MUST(MPI_Group_free(&all)), MUST(MPI_Group_free(&others)), MUST(MPI_Group_free(&first));
}

/* Under an exclusive lock nobody else comes between a read and a write. */
static void exclusive(void)
{
    memory[0] = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int target = round % check_size;
        long value;
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        MUST(MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(target, win));
        value++;
        MUST(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_unlock(target, win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    long own = 0, sum = 0;
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    own = memory[0];
    MUST(MPI_Win_unlock(check_rank, win));
    MUST(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, (long)ROUNDS * check_size);
}

/* Readers are there together, and a writer waits for them and they for it. */
static void readers(void)
{
    long value = -1;
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    /* With one reader at a time nobody would come to this barrier. */
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock(0, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 1) {
        long new = 77;
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        usleep(50000);
        MUST(MPI_Put(&new, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_unlock(0, win));
    } else {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_lock_all(0, win));
        MUST(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_flush_local(0, win));
        CHECK_EQ(value, 77);
        MUST(MPI_Win_unlock_all(win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* A message and a window between the same ranks: whoever polls one lets the other move. */
static void passive(void)
{
    long flag = 0, one = 1;
    memory[2] = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    if (check_rank == 0) {
        while (!flag) {
            MUST(MPI_Fetch_and_op(NULL, &flag, MPI_LONG, 0, 2, MPI_NO_OP, win));
            MUST(MPI_Win_flush(0, win));
        }
    } else if (check_rank == 1) {
        usleep(20000);
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Win_flush_all(win));
    }
    MUST(MPI_Win_sync(win));
    MPI_Request request;
    long value = 5 * check_rank, seen = -1;
    MUST(MPI_Rput(&value, 1, MPI_LONG, check_rank, 3, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* A request that is complete says nothing of the target. */
    MUST(MPI_Win_flush(check_rank, win));
    MUST(MPI_Rget(&seen, 1, MPI_LONG, check_rank, 3, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(seen, value);
    MUST(MPI_Win_flush_local_all(win));
    MUST(MPI_Win_unlock_all(win));
}

static void all(void)
{
    fences();
    ring(0);
    ring(MPI_MODE_NOCHECK);
    star();
    exclusive();
    readers();
    passive();
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Aint bytes = sizeof(long) * (check_size + 4);
    MUST(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    all();
    MUST(MPI_Win_free(&win));
    memory = check_alloc(bytes);
    MUST(MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    all();
    MUST(MPI_Win_free(&win));
    free(memory);
    return check_finish();
}
