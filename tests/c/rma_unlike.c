/* Ranks that make different windows on one communicator (MPI-5.0 section 12.2): all are told who does what, and
 * none waits.
 * ranks: 2 3 8
 */
#include "check.h"

enum { CREATE, ALLOCATE, SHARED, DYNAMIC, SHARED_APART, FLAVORS };

static const char *const names[FLAVORS] = {"MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared",
                                           "MPI_Win_create_dynamic", "alloc_shared_noncontig"};

static MPI_Comm node;

static int make(int flavor, MPI_Win *win)
{
    static int memory[4];
    void *base;
    MPI_Info apart;
    int made = MPI_SUCCESS;
    switch (flavor) {
    case CREATE:
        return MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, node, win);
    case ALLOCATE:
        return MPI_Win_allocate(16, 4, MPI_INFO_NULL, node, &base, win);
    case SHARED:
        return MPI_Win_allocate_shared(16, 4, MPI_INFO_NULL, node, &base, win);
    case DYNAMIC:
        return MPI_Win_create_dynamic(MPI_INFO_NULL, node, win);
    default:
        MUST(MPI_Info_create(&apart));
        MUST(MPI_Info_set(apart, "alloc_shared_noncontig", "true"));
        made = MPI_Win_allocate_shared(16, 4, apart, node, &base, win);
        MUST(MPI_Info_free(&apart));
        return made;
    }
}

/* The last rank makes another window than the others. Afterwards the communicator is as good as before. */
static void differ(int flavor, int other, int is_last)
{
    MPI_Win win = MPI_WIN_NULL;
    const int shared = (flavor == SHARED || flavor == SHARED_APART) && (other == SHARED || other == SHARED_APART);
    const int class = shared ? MPI_ERR_INFO_VALUE : MPI_ERR_RMA_FLAVOR;
    const char *const name = names[shared ? SHARED_APART : other == SHARED_APART ? SHARED : other];
    CHECK_ERROR(make(is_last ? other : flavor, &win), class, name);
    CHECK(win == MPI_WIN_NULL);
    MUST(make(ALLOCATE, &win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
}

/* The call of the last rank is refused. Nobody waits for it, however often that happens. */
static void refused(int is_last, int last)
{
    static int memory[4];
    MPI_Win win = MPI_WIN_NULL;
    void *base;
    char name[32];
    const int unit = is_last ? 0 : 4;
    const char *const words = is_last ? "disp_unit is 0" : name;
    snprintf(name, sizeof name, "the call of rank %d was refused", last);
    for (int i = 0; i < 20; i++) {
        CHECK_ERROR(MPI_Win_create(memory, 16, unit, MPI_INFO_NULL, node, &win), MPI_ERR_DISP, words);
        CHECK_ERROR(MPI_Win_allocate(16, unit, MPI_INFO_NULL, node, &base, &win), MPI_ERR_DISP, words);
        CHECK_ERROR(MPI_Win_allocate_shared(16, unit, MPI_INFO_NULL, node, &base, &win), MPI_ERR_DISP, words);
    }
    const MPI_Info info = is_last ? (MPI_Info)&win : MPI_INFO_NULL;
    CHECK_ERROR(MPI_Win_create_dynamic(info, node, &win), MPI_ERR_INFO, is_last ? "is no info object" : name);
    CHECK(win == MPI_WIN_NULL);
    MUST(make(ALLOCATE, &win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
}

static void no_memory_to_ask_for(void)
{
    MPI_Win win;
    MPI_Aint size;
    int unit;
    void *base;
    MUST(make(DYNAMIC, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    int rank, size;
    check_init(&argc, &argv);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MUST(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_rank(node, &rank));
    MUST(MPI_Comm_size(node, &size));
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int other = 0; size > 1 && other < FLAVORS; other++)
            if (flavor != other)
                differ(flavor, other, rank == size - 1);
    if (size > 1) refused(rank == size - 1, size - 1);
    no_memory_to_ask_for();
    MUST(MPI_Comm_free(&node));
    return check_finish();
}
