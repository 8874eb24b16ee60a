/* Calls that are allowed before init and after finalize (MPI-5.0 section 11.4.1), null arguments to init, and
 * work left over at finalize: buffered messages, unmatched early arrivals, live objects.
 * ranks: 1 2 4
 */
#include "check.h"

static int wrong;

static void expect(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    wrong = 1;
}

/* No communicator exists yet or any more, so these do not use CHECK's summary. */
static void allowed_outside(int initialized, int finalized, const char *when)
{
    int flag = -1, version = 0, subversion, length = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], words[MPI_MAX_ERROR_STRING];
    MPI_Initialized(&flag);
    expect(flag == initialized, when);
    MPI_Finalized(&flag);
    expect(flag == finalized, when);
    expect(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == MPI_VERSION, when);
    expect(MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0, when);
    /* Info objects and error codes work at any time since MPI-4.0. */
    MPI_Info info;
    expect(MPI_Info_create(&info) == MPI_SUCCESS, when);
    expect(MPI_Info_set(info, "key", "value") == MPI_SUCCESS, when);
    expect(MPI_Info_get(info, "key", 20, text, &flag) == MPI_SUCCESS && flag, when);
    expect(MPI_Info_free(&info) == MPI_SUCCESS, when);
    expect(MPI_Error_string(MPI_ERR_RANK, words, &length) == MPI_SUCCESS && length > 0, when);
    int class = 0;
    expect(MPI_Error_class(MPI_ERR_RANK, &class) == MPI_SUCCESS && class == MPI_ERR_RANK, when);
}

/* What a program may leave behind. */
static void leave_things(void)
{
    static char attached[100000];
    static int value = 5;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Buffer_attach(attached, sizeof attached);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, in = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(&value, 1, MPI_INT, to, 3, comm, &request);
    /* Buffered, and received late: finalize completes it (section 11.2.2). */
    MPI_Bsend(&value, 1, MPI_INT, to, 1, comm);
    MPI_Barrier(comm);
    MPI_Recv(&in, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
    CHECK_EQ(in, 5);
    /* Freed before it completes; received by the other. */
    MPI_Isend(&value, 1, MPI_INT, to, 2, comm, &request);
    MPI_Request_free(&request);
    MPI_Recv(&in, 1, MPI_INT, from, 2, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    allowed_outside(0, 0, "before init");
    MPI_Init(NULL, NULL);
    check_identify();
    int level = -1, main_thread = 0, flag = 0;
    MPI_Query_thread(&level);
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&main_thread);
    CHECK(main_thread);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    leave_things();
    int failed = check_summary();
    MPI_Finalize();
    allowed_outside(1, 1, "after finalize");
    return failed || wrong;
}
