/* Kinds of memory (MPI-5.0 section 11.4.3): what sessions, communicators, windows and files say of those that
 * are there.
 * ranks: 1 2
 * instances: default
 */
#include <unistd.h>
#include "check.h"

static int names(MPI_Info info, const char *kind)
{
    char value[MPI_MAX_INFO_VAL] = ",";
    int room = sizeof value - 2, flag = 0, found;
    char wanted[64];
    MUST(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, value + 1, &flag));
    if (!CHECK(flag)) return 0;
    strcat(value, ",");
    snprintf(wanted, sizeof wanted, ",%s,", kind);
    found = strstr(value, wanted) != NULL;
    return found;
}

/* What is made of a communicator may have buffers of the kinds that the communicator's session has asked for. */
static void of_window(MPI_Comm comm, int asked)
{
    MPI_Win win;
    MPI_Info used;
    int value = 0;
    MUST(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, comm, &win));
    MUST(MPI_Win_get_info(win, &used));
    CHECK(names(used, "system") && names(used, "mpi"));
    CHECK_EQ(names(used, "mpi:alloc_mem"), asked);
    MPI_Info_free(&used);
    MUST(MPI_Win_free(&win));
}

static void of_file(MPI_Comm comm, int asked)
{
    MPI_File file;
    MPI_Info used;
    char name[64] = "";
    if (check_rank == 0) snprintf(name, sizeof name, "/tmp/kinds-%d-%d", (int)getpid(), asked);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MUST(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    MUST(MPI_File_get_info(file, &used));
    CHECK(names(used, "system") && names(used, "mpi"));
    CHECK_EQ(names(used, "mpi:alloc_mem"), asked);
    MPI_Info_free(&used);
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Info asked, used;
    MPI_Group group;
    MPI_Comm comm;
    check_init(&argc, &argv);
    MPI_Info_create(&asked);
    MPI_Info_set(asked, "mpi_memory_alloc_kinds", "system,cuda:device,mpi:alloc_mem");
    MUST(MPI_Session_init(asked, MPI_ERRORS_RETURN, &session));
    MPI_Info_free(&asked);
    MUST(MPI_Session_get_info(session, &used));
    CHECK(names(used, "system") && names(used, "mpi") && names(used, "mpi:alloc_mem"));
    CHECK(!names(used, "cuda:device"));
    MPI_Info_free(&used);
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, "kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Comm_get_info(comm, &used));
    CHECK(names(used, "mpi:alloc_mem"));
    MPI_Info_free(&used);
    of_window(comm, 1);
    of_file(comm, 1);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MUST(MPI_Session_finalize(&session));
    MUST(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK(names(used, "system") && names(used, "mpi"));
    CHECK(!names(used, "mpi:alloc_mem"));
    MPI_Info_free(&used);
    of_window(MPI_COMM_WORLD, 0);
    of_file(MPI_COMM_WORLD, 0);
    return check_finish();
}
