/* Epochs of MPI_Win_lock_all that access the same ranks in different orders, while others want these ranks alone
 * (MPI-5.0 sections 12.5.3 and 12.7.3): nobody waits for ever.
 * ranks: 2 4
 * timeout: 60
 */
#include "check.h"
#include <unistd.h>

enum { ROUNDS = 200 };

static long *memory;
static MPI_Win win;

static void add(int target)
{
    const long one = 1;
    MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_flush(target, win));
}

/* Half of the ranks have an epoch each. While they compute, the other half asks for locks that they hold. */
static void crosses(void)
{
    const int half = check_size / 2, is_reader = check_rank < half;
    memory[0] = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (is_reader) {
        MUST(MPI_Win_lock_all(0, win));
        add(half + check_rank);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (is_reader) {
        usleep(200000);
        for (int i = 1; i < half; i++) add(half + (check_rank + i) % half);
        for (int target = 0; target < half; target++) add(target);
        MUST(MPI_Win_unlock_all(win));
    } else {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
        add(check_rank);
        MUST(MPI_Win_unlock(check_rank, win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[0], half + !is_reader);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* Epochs follow each other without a pause at all ranks but the last one, which has to get its turn all the same. */
static void lets_writers_in(void)
{
    const int last = check_size - 1;
    memory[0] = memory[1] = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == last) {
        const long stop = 1;
        for (int i = 0; i < ROUNDS; i++) {
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i % check_size, 0, win));
            add(i % check_size);
            MUST(MPI_Win_unlock(i % check_size, win));
        }
        for (int target = 0; target < check_size; target++) {
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
            MUST(MPI_Put(&stop, 1, MPI_LONG, target, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock(target, win));
        }
    }
    const long nothing = 0;
    for (long stop = check_rank == last; !stop;) {
        MUST(MPI_Win_lock_all(0, win));
        for (int i = 1; i <= check_size; i++) {
            int target = (check_rank + i) % check_size;
            MUST(MPI_Accumulate(&nothing, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        }
        MUST(MPI_Fetch_and_op(NULL, &stop, MPI_LONG, check_rank, 1, MPI_NO_OP, win));
        MUST(MPI_Win_unlock_all(win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    long sum;
    MUST(MPI_Allreduce(memory, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, ROUNDS);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    long own[2];
    for (int is_created = 0; is_created < 2; is_created++) {
        memory = own;
        if (is_created)
            MUST(MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        else
            MUST(MPI_Win_allocate(sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        crosses();
        lets_writers_in();
        MUST(MPI_Win_free(&win));
    }
    return check_finish();
}
