/* Kinds of memory (MPI-5.0 section 11.4.3): what sessions and communicators say of those that are there.
 * ranks: 1 2
 * instances: default
 */
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
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MUST(MPI_Session_finalize(&session));
    MUST(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK(names(used, "system") && names(used, "mpi"));
    CHECK(!names(used, "mpi:alloc_mem"));
    MPI_Info_free(&used);
    return check_finish();
}
