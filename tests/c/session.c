/* Sessions (MPI-5.0 section 11.3): before and beside MPI_Init, process sets, communicators from groups, their
 * errors, and MPI_COMM_WORLD's absence.
 * ranks: 1 2 5
 */
#include "check.h"

static MPI_Session session;
static MPI_Group everybody;
static MPI_Comm all;

static int errors_seen;

static void count_errors(MPI_Session *where, int *code, ...)
{
    (void)code;
    errors_seen += *where == session;
}

static int sum_of_ones(MPI_Comm comm)
{
    int one = 1, sum = 0;
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    return sum;
}

static void process_sets(void)
{
    int sets = 0, world_seen = 0;
    MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
    CHECK(sets >= 2);
    for (int i = 0; i < sets; i++) {
        char name[MPI_MAX_PSET_NAME_LEN], text[16];
        int length = 0, flag = 0, room = sizeof text;
        MPI_Info info;
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL));
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        CHECK_EQ(strlen(name) + 1, length);
        world_seen += strcmp(name, "mpi://WORLD") == 0;
        MUST(MPI_Session_get_pset_info(session, name, &info));
        MUST(MPI_Info_get_string(info, "mpi_size", &room, text, &flag));
        CHECK(flag && atoi(text) >= 1);
        MPI_Info_free(&info);
    }
    CHECK_EQ(world_seen, 1);
}

/* Works before MPI_Init. */
static void start(void)
{
    MPI_Errhandler handler;
    int provided = 0;
    MUST(MPI_Session_create_errhandler(count_errors, &handler));
    MUST(MPI_Session_init(MPI_INFO_NULL, handler, &session));
    MPI_Errhandler_free(&handler);
    process_sets();
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &everybody));
    MUST(MPI_Comm_create_from_group(everybody, "tern.test.session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
    MPI_Comm_size(all, &provided);
    CHECK_EQ(sum_of_ones(all), provided);
    /* The communicator has the handler that it was made with. */
    CHECK(MPI_Send(&provided, 1, MPI_INT, 1000, 0, all) != MPI_SUCCESS);
    CHECK_EQ(errors_seen, 0);
}

static void errors(void)
{
    MPI_Group group = MPI_GROUP_EMPTY;
    MPI_Comm none = all;
    int length = 0, class = 0;
    MPI_Error_class(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &length, NULL), &class);
    CHECK_EQ(class, MPI_ERR_ARG);
    CHECK_EQ(errors_seen, 1);
    MPI_Group_from_session_pset(session, "no such set", &group);
    CHECK(group == MPI_GROUP_NULL);
    /* The error handler that is given decides of wrong arguments, too (section 7.4.2); MPI_COMM_SELF's is fatal. */
    MPI_Error_class(MPI_Comm_create_from_group(everybody, "null", MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), &class);
    CHECK_EQ(class, MPI_ERR_ARG);
    MPI_Error_class(MPI_Comm_create_from_group(everybody, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &none), &class);
    CHECK_EQ(class, MPI_ERR_ARG);
    MPI_Error_class(MPI_Intercomm_create_from_groups(everybody, 0, everybody, 0, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                     &none), &class);
    CHECK_EQ(class, MPI_ERR_ARG);
    MPI_Group alone;
    MUST(MPI_Group_incl(everybody, 1, &check_rank, &alone));
    MPI_Error_class(MPI_Intercomm_create_from_groups(alone, 0, alone, 0, "twice", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                     &none), &class);
    CHECK_EQ(class, MPI_ERR_GROUP);
    MUST(MPI_Group_free(&alone));
    MPI_Error_class(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), &class);
    CHECK_EQ(class, MPI_ERR_ARG);
    MUST(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none));
    CHECK(none == MPI_COMM_NULL);
}

static void subgroups(void)
{
    MPI_Group alone, half, other;
    MPI_Comm comm, inter;
    int low = check_rank < check_size / 2, remote = -1;
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &alone));
    MUST(MPI_Comm_create_from_group(alone, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_EQ(sum_of_ones(comm), 1);
    MPI_Comm_free(&comm), MPI_Group_free(&alone);
    if (check_size < 2) return;
    int ranges[2][3] = {{0, check_size / 2 - 1, 1}, {check_size / 2, check_size - 1, 1}};
    MPI_Group_range_incl(everybody, 1, &ranges[!low], &half);
    MPI_Group_range_incl(everybody, 1, &ranges[low], &other);
    /* The same string for different groups, twice. */
    for (int i = 0; i < 2; i++) {
        int size;
        MUST(MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        MPI_Group_size(half, &size);
        CHECK_EQ(sum_of_ones(comm), size);
        MPI_Comm_free(&comm);
    }
    MUST(MPI_Intercomm_create_from_groups(half, 0, other, 0, "both", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
    MPI_Comm_remote_size(inter, &remote);
    CHECK_EQ(remote, low ? check_size - check_size / 2 : check_size / 2);
    CHECK_EQ(sum_of_ones(inter), remote);
    MPI_Comm_free(&inter);
    MPI_Group_free(&half), MPI_Group_free(&other);
}

int main(int argc, char **argv)
{
    start();
    check_init(&argc, &argv);
    CHECK_EQ(sum_of_ones(all), check_size);
    errors();
    subgroups();
    MPI_Comm_free(&all), MPI_Group_free(&everybody);
    MUST(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
    return check_finish();
}
