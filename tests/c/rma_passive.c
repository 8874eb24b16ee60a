/* Passive targets (MPI-5.0 section 12.7.3): a target that computes serves others, and one that others leave alone uses
 * no processor.
 * ranks: 2 3
 * timeout: 60
 */
#include "check.h"
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static long *memory;
static MPI_Win win;

/* Rank 0 calls nothing until the others have done all of their accesses. */
static void computes(void)
{
    memory[0] = 0, memory[1] = 77;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        volatile long *counter = memory, turns = 0;
        while (*counter < (long)ROUNDS * (check_size - 1)) turns++;
        CHECK(turns >= 0);
    } else {
        long one = 1, old, seen, mine = check_rank;
        for (int i = 0; i < ROUNDS; i++) {
            MUST(MPI_Win_lock(i % 8 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MUST(MPI_Get(&seen, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
            MUST(MPI_Put(&mine, 1, MPI_LONG, 0, 1 + check_rank, 1, MPI_LONG, win));
            MUST(MPI_Win_flush(0, win));
            CHECK_EQ(seen, 77);
            MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
            MUST(MPI_Win_unlock(0, win));
            CHECK(old >= i);
        }
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        for (int from = 1; from < check_size; from++) CHECK_EQ(memory[1 + from], from);
}

/* Nobody accesses anything for half a second. */
static void idles(void)
{
    struct timespec before, after;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    usleep(100000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    usleep(500000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    long used = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
    if (used > 25000) fprintf(stderr, "rank %d used %ld us\n", check_rank, used);
    CHECK(used < 25000);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    const MPI_Aint bytes = sizeof(long) * (check_size + 2);
    MUST(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    computes();
    idles();
    computes();
    MUST(MPI_Win_free(&win));
    memory = check_alloc(bytes);
    MUST(MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    computes();
    MUST(MPI_Win_free(&win));
    free(memory);
    return check_finish();
}
