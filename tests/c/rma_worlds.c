/* A window of processes of two worlds, whose ranks in their own worlds are the same (MPI-5.0 sections 11.8 and 12.2).
 * ranks: 1 2
 * timeout: 120
 */
#include "check.h"

static long *memory;
static MPI_Win win;
static int rank, size;

/* Every process leaves its rank at all others. */
static void puts_to_all(void)
{
    long mine = 100 + rank;
    for (int i = 0; i < size; i++) memory[i] = -1;
    MUST(MPI_Win_fence(0, win));
    for (int target = 0; target < size; target++) MUST(MPI_Put(&mine, 1, MPI_LONG, target, rank, 1, MPI_LONG, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int from = 0; from < size; from++) CHECK_EQ(memory[from], 100 + from);
}

/* The same between posts and completions. */
static void posts_to_all(void)
{
    MPI_Group all;
    long mine = 200 + rank;
    MUST(MPI_Win_get_group(win, &all));
    MUST(MPI_Win_post(all, 0, win));
    MUST(MPI_Win_start(all, 0, win));
    for (int target = 0; target < size; target++) MUST(MPI_Put(&mine, 1, MPI_LONG, target, rank, 1, MPI_LONG, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    for (int from = 0; from < size; from++) CHECK_EQ(memory[from], 200 + from);
    MUST(MPI_Group_free(&all));
}

/* All count up at each, alone and together with others. */
static void locks_all_others(void)
{
    const long one = 1;
    memory[0] = 0;
    MUST(MPI_Win_fence(0, win));
    for (int i = 1; i <= size; i++) {
        int target = (rank + i) % size;
        MUST(MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win));
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Win_unlock(target, win));
    }
    MUST(MPI_Win_lock_all(0, win));
    for (int target = 0; target < size; target++)
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(memory[0], 2 * size);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, others, all;
    check_init(&argc, &argv);
    MUST(MPI_Comm_get_parent(&parent));
    const int is_child = parent != MPI_COMM_NULL;
    others = parent;
    if (!is_child)
        MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, check_size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
                            MPI_ERRCODES_IGNORE));
    MUST(MPI_Intercomm_merge(others, is_child, &all));
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MUST(MPI_Win_allocate(size * sizeof(long), sizeof(long), MPI_INFO_NULL, all, &memory, &win));
    puts_to_all();
    posts_to_all();
    locks_all_others();
    MUST(MPI_Win_free(&win));
    /* What went wrong at the children counts at their parents. */
    long mine = is_child ? check_failures : 0, sum;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, all));
    MUST(MPI_Comm_free(&all));
    MUST(MPI_Comm_disconnect(&others));
    if (is_child) return MPI_Finalize();
    CHECK_EQ(sum, 0);
    return check_finish();
}
