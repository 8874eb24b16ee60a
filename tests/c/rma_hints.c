/* Hints and assertions of windows: accepted, told, and of effect (MPI-5.0 sections 12.2.1, 12.2.3 and 12.5.5).
 * ranks: 2 3
 * timeout: 60
 */
#include "check.h"

static const char *const hints[][2] = {
    {"no_locks", "true"}, {"accumulate_ordering", "none"}, {"accumulate_ops", "same_op"}, {"same_size", "true"},
    {"same_disp_unit", "true"}, {"mpi_accumulate_granularity", "8"}, {"mpi_minimum_memory_alignment", "8192"},
    {"alloc_shared_noncontig", "true"}, {"mpi_assert_memory_alloc_kinds", "mpi"}};
enum { HINTS = sizeof hints / sizeof hints[0] };

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    return info;
}

/* What a window tells of a hint; 0 if nothing. */
static int told(MPI_Win win, const char *key, char *value)
{
    MPI_Info used;
    int length = 64, flag;
    MUST(MPI_Win_get_info(win, &used));
    MUST(MPI_Info_get_string(used, key, &length, value, &flag));
    MUST(MPI_Info_free(&used));
    return flag;
}

static void all_are_told(void)
{
    MPI_Info info;
    MPI_Win win;
    char *base, value[64];
    MUST(MPI_Info_create(&info));
    for (int i = 0; i < HINTS; i++)
        MUST(MPI_Info_set(info, hints[i][0], hints[i][1]));
    MUST(MPI_Win_allocate(64, 4, info, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < HINTS; i++)
        if (strcmp(hints[i][0], "alloc_shared_noncontig") != 0) {
            CHECK(told(win, hints[i][0], value));
            CHECK_STR(value, hints[i][1]);
        }
    CHECK((uintptr_t)base % 8192 == 0);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "no_locks");
    CHECK_ERROR(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "no_locks");
    CHECK(told(win, "mpi_memory_alloc_kinds", value) && strstr(value, "mpi") != NULL);
    MUST(MPI_Win_free(&win));
    if (check_shares_memory()) {
        MUST(MPI_Win_allocate_shared(64, 4, info, MPI_COMM_WORLD, &base, &win));
        CHECK(told(win, "alloc_shared_noncontig", value));
        CHECK_STR(value, "true");
        MUST(MPI_Win_free(&win));
    }
    MUST(MPI_Info_free(&info));
}

/* All ranks are told of one that differs, and the communicator is as good as before. */
static void sameness(const char *key, MPI_Aint size, int unit)
{
    MPI_Info info = info_of(key, "true");
    MPI_Win win = MPI_WIN_NULL;
    char *base;
    const int differs = check_rank == check_size - 1;
    CHECK_ERROR(MPI_Win_allocate(differs ? size : 64, differs ? unit : 4, info, MPI_COMM_WORLD, &base, &win),
                MPI_ERR_INFO_VALUE, key);
    CHECK(win == MPI_WIN_NULL);
    MUST(MPI_Win_allocate(64, 4, info, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Win_allocate(differs ? size : 64, differs ? unit : 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_Win_free(&win));
}

/* Values that mean nothing. */
static void bad_values(void)
{
    MPI_Info info = info_of("mpi_accumulate_granularity", "many");
    MPI_Win win = MPI_WIN_NULL;
    char *base;
    CHECK_ERROR(MPI_Win_allocate(64, 4, info, MPI_COMM_WORLD, &base, &win), MPI_ERR_INFO_VALUE, "granularity");
    MUST(MPI_Info_free(&info));
}

static void assertions(void)
{
    const int last = check_size - 1, all = MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    int *memory, mine = check_rank, found = -1;
    MPI_Win win;
    MPI_Group group;
    MUST(MPI_Win_allocate(4 * check_size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&memory, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win));
    MUST(MPI_Put(&mine, 1, MPI_INT, last, check_rank, 1, MPI_INT, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSTORE, win));
    MUST(MPI_Get(&found, 1, MPI_INT, last, last, 1, MPI_INT, win));
    /* A contradiction: the rank that has accessed is told, when no other waits for it any more. */
    CHECK_ERROR(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT, "MPI_MODE_NOPRECEDE");
    CHECK_EQ(found, last);
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED | all, win));
    CHECK_ERROR(MPI_Put(&mine, 1, MPI_INT, last, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "MPI_Put");
    MUST(MPI_Win_get_group(win, &group));
    MUST(MPI_Win_post(group, MPI_MODE_NOCHECK | all, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_start(group, MPI_MODE_NOCHECK, win));
    MUST(MPI_Put(&mine, 1, MPI_INT, last, check_rank, 1, MPI_INT, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, last, MPI_MODE_NOCHECK, win));
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, last, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT, "MPI_Win_lock");
    MUST(MPI_Win_unlock(last, win));
    CHECK_ERROR(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT, "MPI_Win_fence");
    CHECK_ERROR(MPI_Win_post(group, MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT, "MPI_Win_post");
    CHECK_ERROR(MPI_Win_start(group, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT, "MPI_Win_start");
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; check_rank == last && i < check_size; i++)
        CHECK_EQ(memory[i], i);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    all_are_told();
    sameness("same_size", 72, 4);
    sameness("same_disp_unit", 64, 8);
    bad_values();
    assertions();
    return check_finish();
}
