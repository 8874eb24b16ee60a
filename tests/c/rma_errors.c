/* Wrong calls on windows: the standard's class, through the window's error handler, and a message that says what
 * (MPI-5.0 section 12.6).
 * ranks: 2 3
 */
#include "check.h"

static MPI_Win win;
static int handled, value;

static void count(MPI_Win *which, int *code, ...)
{
    int class;
    handled += *which == win && MPI_Error_class(*code, &class) == MPI_SUCCESS && class == MPI_ERR_RMA_SYNC;
}

static int put(int target, MPI_Aint displacement, int elements)
{
    static int many[100];
    return MPI_Put(many, elements, MPI_INT, target, displacement, elements, MPI_INT, win);
}

static void ranges(void)
{
    MUST(MPI_Win_fence(0, win));
    MUST(put(0, 9 - check_rank, 1));
    CHECK_ERROR(put(0, 10, 1), MPI_ERR_RMA_RANGE, "MPI_Put");
    CHECK_ERROR(put(0, -1, 1), MPI_ERR_RMA_RANGE, "bytes -4 to 0 of rank 0");
    CHECK_ERROR(put(1, 0, 11), MPI_ERR_RMA_RANGE, "40 bytes");
    CHECK_ERROR(put(check_size, 0, 1), MPI_ERR_RANK, "ledger");
    CHECK_ERROR(put(-7, 0, 1), MPI_ERR_RANK, "MPI_Put");
    CHECK_ERROR(put(0, 0, -1), MPI_ERR_COUNT, "MPI_Put");
    CHECK_ERROR(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER, "MPI_Put");
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TYPE, "both must have the same");
    CHECK_ERROR(MPI_Get(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "MPI_Get");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE, "MPI_FLOAT");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP, "MPI_Acc");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MINLOC, win), MPI_ERR_OP, "MPI_INT");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP, "MPI_NO_OP");
    MUST(MPI_Accumulate(&value, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, win));
    double number = 0;
    CHECK_ERROR(MPI_Compare_and_swap(&number, &number, &number, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE, "MPI_DOUBLE");
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* In an epoch that is open already, and as a request. */
static void no_operation(void)
{
    int two[2] = {1, 2};
    MPI_Request request;
    MUST(MPI_Win_lock_all(0, win));
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP, "MPI_NO_OP");
    CHECK_ERROR(MPI_Accumulate(two, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP, "MPI_Accumulate");
    CHECK_ERROR(MPI_Raccumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win, &request), MPI_ERR_OP,
                "MPI_Raccumulate");
    MUST(MPI_Fetch_and_op(NULL, &value, MPI_INT, 0, 0, MPI_NO_OP, win));
    MUST(MPI_Win_unlock_all(win));
}

/* Regions of dynamic windows. */
static void regions(void)
{
    MPI_Win other;
    char memory[64];
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    MUST(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));
    MUST(MPI_Win_attach(other, memory + 8, 16));
    CHECK_ERROR(MPI_Win_attach(other, memory + 8, 16), MPI_ERR_RMA_ATTACH, "16 bytes at");
    CHECK_ERROR(MPI_Win_attach(other, memory, 9), MPI_ERR_RMA_ATTACH, "MPI_Win_attach");
    CHECK_ERROR(MPI_Win_attach(other, memory + 23, 8), MPI_ERR_RMA_ATTACH, "already");
    CHECK_ERROR(MPI_Win_attach(other, NULL, 8), MPI_ERR_BASE, "null");
    MUST(MPI_Win_attach(other, memory, 8));
    MUST(MPI_Win_attach(other, memory + 24, 8));
    MUST(MPI_Win_detach(other, memory + 8));
    MUST(MPI_Win_attach(other, memory + 8, 1));
    MUST(MPI_Win_attach(other, memory + 40, 0));
    MUST(MPI_Win_attach(other, NULL, 0));
    MUST(MPI_Win_detach(other, NULL));
    MUST(MPI_Win_detach(other, memory + 40));
    CHECK_ERROR(MPI_Win_detach(other, memory + 40), MPI_ERR_RMA_ATTACH, "no memory is attached");
    MUST(MPI_Win_free(&other));
}

/* The int form of a question with an answer that is too large for it. */
static void units(void)
{
    MPI_Win other;
    char memory[64];
    MPI_Aint bytes, unit = (MPI_Aint)1 << 33, found = 0;
    int small = 0, flag = 0, *attribute = NULL;
    void *base;
    MUST(MPI_Win_create_c(memory, sizeof memory, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    MUST(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));
    MUST(MPI_Win_shared_query_c(other, check_rank, &bytes, &found, &base));
    CHECK(found == unit);
    CHECK_ERROR(MPI_Win_shared_query(other, check_rank, &bytes, &small, &base), MPI_ERR_VALUE_TOO_LARGE, "8589934592");
    CHECK_ERROR(MPI_Win_get_attr(other, MPI_WIN_DISP_UNIT, &attribute, &flag), MPI_ERR_VALUE_TOO_LARGE, "displacement");
    MUST(MPI_Win_free(&other));
}

static void epochs(void)
{
    MPI_Request request;
    MPI_Group group;
    int flag;
    MUST(MPI_Win_get_group(win, &group));
    CHECK_ERROR(put(0, 0, 1), MPI_ERR_RMA_SYNC, "no access epoch is open");
    CHECK_ERROR(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_flush");
    CHECK_ERROR(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC, "not locked");
    CHECK_ERROR(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all");
    CHECK_ERROR(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
    CHECK_ERROR(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_post");
    CHECK_ERROR(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_post");
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "locked already");
    CHECK_ERROR(put(1, 0, 1), MPI_ERR_RMA_SYNC, "has locked other targets");
    CHECK_ERROR(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock");
    CHECK_ERROR(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock");
    CHECK_ERROR(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
    CHECK_ERROR(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_free");
    MUST(MPI_Win_unlock(0, win));
    CHECK_ERROR(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE, "99");
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, check_size, 0, win), MPI_ERR_RANK, "MPI_Win_lock");
    CHECK_ERROR(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT, "MPI_Win_fence");
    MUST(MPI_Win_fence(0, win));
    CHECK_ERROR(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC, "MPI_Rput");
    MUST(put(0, check_rank, 1));
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence has accesses");
    CHECK_ERROR(MPI_Win_post(group, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_post");
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Group_free(&group));
}

static void objects(void)
{
    char *memory;
    MPI_Win other = MPI_WIN_NULL;
    CHECK_ERROR(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_free(&other), MPI_ERR_WIN, "MPI_Win_free");
    CHECK_ERROR(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &other), MPI_ERR_SIZE, "-1");
    CHECK_ERROR(MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &other), MPI_ERR_DISP, "disp_unit");
    CHECK_ERROR(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &other), MPI_ERR_BASE, "null");
    CHECK_ERROR(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "no_locks", "true"));
    MUST(MPI_Win_allocate(8, 1, info, MPI_COMM_SELF, &memory, &other));
    MUST(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Win_lock_all(0, other), MPI_ERR_RMA_SYNC, "no_locks");
    MPI_Win freed = other;
    MUST(MPI_Win_free(&other));
    CHECK_ERROR(MPI_Win_fence(0, freed), MPI_ERR_WIN, "freed");
    MUST(MPI_Info_free(&info));
}

static void handlers(void)
{
    MPI_Errhandler handler, found;
    MUST(MPI_Win_create_errhandler(count, &handler));
    MUST(MPI_Win_set_errhandler(win, handler));
    MUST(MPI_Win_get_errhandler(win, &found));
    CHECK(found == handler);
    MUST(MPI_Errhandler_free(&found));
    CHECK(put(0, 0, 1) != MPI_SUCCESS);
    MUST(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
    CHECK_EQ(handled, 2);
    MUST(MPI_Errhandler_free(&handler));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int *memory;
    MUST(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_Errhandler usual;
    MUST(MPI_Win_get_errhandler(win, &usual));
    CHECK(usual == MPI_ERRORS_ARE_FATAL);
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_set_name(win, "ledger"));
    ranges();
    no_operation();
    regions();
    units();
    epochs();
    objects();
    handlers();
    MUST(MPI_Win_free(&win));
    return check_finish();
}
