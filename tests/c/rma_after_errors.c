/* A refused access or window leaves nothing behind: epochs, locks, flushes and other ranks go on (MPI-5.0
 * section 12.6).
 * ranks: 2 3
 * timeout: 40
 */
#include "check.h"

enum { CREATE, ALLOCATE, DYNAMIC, FLAVORS, WORDS = 16 };

static MPI_Win win;
static int flavor, last;
static long long words[WORDS], *memory;
static MPI_Aint base; /* displacement of the last rank's first word */
static MPI_Group ranks;

static MPI_Aint word(int at) { return base + at * (flavor == DYNAMIC ? 8 : 1); }

static void make(void)
{
    MPI_Aint own = 0;
    memory = words;
    if (flavor == CREATE) MUST(MPI_Win_create(words, sizeof words, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (flavor == ALLOCATE)
        MUST(MPI_Win_allocate(sizeof words, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (flavor == DYNAMIC) {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MUST(MPI_Win_attach(win, words, sizeof words));
        MUST(MPI_Get_address(words, &own));
    }
    memset(memory, 0, sizeof words);
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Bcast(&own, 1, MPI_AINT, last, MPI_COMM_WORLD));
    base = own;
    MUST(MPI_Win_get_group(win, &ranks));
}

/* Every rank makes every mistake that is told at once. */
static void mistakes(int is_passive)
{
    long long value = 99, old[2];
    int number = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT64_T, check_size, 0, 1, MPI_INT64_T, win), MPI_ERR_RANK, "MPI_Put");
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT64_T, last, word(0), 2, MPI_INT64_T, win), MPI_ERR_TYPE, "MPI_Put");
    CHECK_ERROR(MPI_Get(old, 2, MPI_INT64_T, last, word(0), 1, MPI_INT64_T, win), MPI_ERR_TYPE, "MPI_Get");
    CHECK_ERROR(MPI_Put(&value, -1, MPI_INT64_T, last, word(0), 1, MPI_INT64_T, win), MPI_ERR_COUNT, "MPI_Put");
    CHECK_ERROR(MPI_Accumulate(&number, 2, MPI_INT, last, word(0), 2, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE,
                "MPI_Accumulate");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT64_T, last, word(0), 1, MPI_INT64_T, MPI_MINLOC, win),
                MPI_ERR_OP, "MPI_Accumulate");
    CHECK_ERROR(MPI_Get_accumulate(&value, 1, MPI_INT64_T, old, 2, MPI_INT64_T, last, word(0), 1, MPI_INT64_T,
                                   MPI_SUM, win), MPI_ERR_TYPE, "MPI_Get_accumulate");
    if (flavor != DYNAMIC) {
        CHECK_ERROR(MPI_Put(&value, 1, MPI_INT64_T, last, WORDS, 1, MPI_INT64_T, win), MPI_ERR_RMA_RANGE, "MPI_Put");
        CHECK_ERROR(MPI_Fetch_and_op(&value, old, MPI_INT64_T, last, -1, MPI_SUM, win), MPI_ERR_RMA_RANGE,
                    "MPI_Fetch_and_op");
        CHECK_ERROR(MPI_Compare_and_swap(&value, &value, old, MPI_INT64_T, last, WORDS, win), MPI_ERR_RMA_RANGE,
                    "MPI_Compare_and_swap");
    }
    if (is_passive) {
        CHECK_ERROR(MPI_Rput(&value, 1, MPI_INT64_T, last, word(0), 2, MPI_INT64_T, win, &request), MPI_ERR_TYPE,
                    "MPI_Rput");
        CHECK(request == MPI_REQUEST_NULL);
    }
}

static void add_one(void)
{
    const long long one = 1;
    MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, last, word(1), 1, MPI_INT64_T, MPI_SUM, win));
}

/* An access to memory that is not attached: over a network, the next synchronization tells. */
static int is_refused(int code, int (*synchronize)(int, MPI_Win))
{
    int class, told = MPI_SUCCESS;
    if (synchronize != NULL) told = synchronize(last, win);
    if (code == MPI_SUCCESS) code = told;
    else CHECK_EQ(told, MPI_SUCCESS);
    MPI_Error_class(code, &class);
    return class == MPI_ERR_RMA_RANGE;
}

static void unattached(void)
{
    static long long many[2 * WORDS], old[2 * WORDS];
    MUST(MPI_Win_lock_all(0, win));
    CHECK(is_refused(MPI_Put(many, 1, MPI_INT64_T, last, word(-9), 1, MPI_INT64_T, win), MPI_Win_flush));
    CHECK(is_refused(MPI_Get(old, 1, MPI_INT64_T, last, word(-9), 1, MPI_INT64_T, win), MPI_Win_flush));
    CHECK(is_refused(MPI_Get(old, 2 * WORDS, MPI_INT64_T, last, word(0), 2 * WORDS, MPI_INT64_T, win),
                     MPI_Win_flush));
    CHECK(is_refused(MPI_Get_accumulate(many, 2 * WORDS, MPI_INT64_T, old, 2 * WORDS, MPI_INT64_T, last, word(0),
                                        2 * WORDS, MPI_INT64_T, MPI_SUM, win), MPI_Win_flush));
    CHECK(is_refused(MPI_Fetch_and_op(many, old, MPI_INT64_T, last, word(-9), MPI_SUM, win), MPI_Win_flush));
    CHECK(is_refused(MPI_Compare_and_swap(many, many, old, MPI_INT64_T, last, word(-9), win), MPI_Win_flush));
    add_one();
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Win_unlock_all(win));
}

/* What each kind of epoch and its end do after the mistakes. Each time every rank adds one. */
static void go_on(void)
{
    MUST(MPI_Win_fence(0, win));
    mistakes(0);
    /* The fence's epoch has no access yet: others may begin in its place. */
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win));
    mistakes(1);
    MUST(MPI_Win_flush_local(last, win));
    add_one();
    MUST(MPI_Win_flush(last, win));
    mistakes(1);
    MUST(MPI_Win_unlock(last, win));
    MUST(MPI_Win_lock_all(0, win));
    mistakes(1);
    MUST(MPI_Win_flush_local_all(win));
    MUST(MPI_Win_flush_all(win));
    add_one();
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Win_post(ranks, 0, win));
    CHECK_ERROR(MPI_Win_post(ranks, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_post");
    MUST(MPI_Win_start(ranks, 0, win));
    CHECK_ERROR(MPI_Win_start(ranks, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
    mistakes(0);
    add_one();
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    MUST(MPI_Win_fence(0, win));
    add_one();
    mistakes(0);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Windows that cannot be had take nothing from those that can. */
static void too_large(void)
{
    char *got = NULL;
    MPI_Win large = MPI_WIN_NULL;
    const MPI_Aint sizes[] = {(MPI_Aint)1 << 61, (MPI_Aint)3 << 60, (MPI_Aint)1 << 47};
    for (int i = 0; i < 12; i++)
        CHECK_ERROR(MPI_Win_allocate(sizes[i % 3], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &got, &large), MPI_ERR_NO_MEM,
                    "MPI_Win_allocate");
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(MPI_Win_allocate_shared(sizes[i], 1, MPI_INFO_NULL, MPI_COMM_SELF, &got, &large), MPI_ERR_NO_MEM,
                    "MPI_Win_allocate_shared");
    for (int i = 0; i < 100; i++) {
        const int code = check_rank == last
            ? MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &large)
            : MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &got, &large);
        CHECK_ERROR(code, MPI_ERR_RMA_FLAVOR, "MPI_Win_");
        CHECK(large == MPI_WIN_NULL);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    last = check_size - 1;
    too_large();
    for (flavor = CREATE; flavor < FLAVORS; flavor++) {
        make();
        int rounds = 0;
        for (int round = 0; round < 20; round++, rounds += 4)
            go_on();
        if (flavor == DYNAMIC) {
            unattached();
            rounds++;
        }
        MUST(MPI_Win_fence(0, win));
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        if (check_rank == last) {
            CHECK_EQ(memory[0], 0);
            CHECK_EQ(memory[1], rounds * check_size);
        }
        MUST(MPI_Group_free(&ranks));
        MUST(MPI_Win_free(&win));
    }
    return check_finish();
}
