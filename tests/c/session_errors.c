/* Error handlers of sessions (MPI-5.0 sections 9.3 and 11.3): set, asked for, called, and used for what has no
 * communicator; hints that a session says it uses.
 * ranks: 1 2
 * instances: default
 * timeout: 60
 */
#include "check.h"

static int called, code_seen;
static MPI_Session session_seen;

static void on_error(MPI_Session *session, int *code, ...)
{
    called++;
    code_seen = *code;
    session_seen = *session;
}

static void handlers(MPI_Session session)
{
    MPI_Errhandler own, found;
    MPI_Group group;
    int count, class = 0;
    MUST(MPI_Session_create_errhandler(on_error, &own));
    MUST(MPI_Session_get_errhandler(session, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    MUST(MPI_Session_set_errhandler(session, own));
    MUST(MPI_Session_get_errhandler(session, &found));
    CHECK(found == own);
    MUST(MPI_Errhandler_free(&found));
    /* The handler lives as long as the session uses it. */
    MUST(MPI_Errhandler_free(&own));
    CHECK(own == MPI_ERRHANDLER_NULL);
    MUST(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK_EQ(called, 1);
    CHECK_EQ(code_seen, MPI_ERR_OTHER);
    CHECK(session_seen == session);
    CHECK(MPI_Group_from_session_pset(session, "mpi://nowhere", &group) != MPI_SUCCESS);
    CHECK_EQ(called, 2);
    MPI_Error_class(code_seen, &class);
    CHECK(class != MPI_SUCCESS);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &count, NULL) != MPI_SUCCESS);
    CHECK_EQ(called, 3);
    MUST(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    CHECK(MPI_Group_from_session_pset(session, "mpi://nowhere", &group) != MPI_SUCCESS);
    CHECK_EQ(called, 3);
}

static void hints(void)
{
    MPI_Session session;
    MPI_Info info, used;
    char value[64];
    int room = sizeof value, flag = 0;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    MUST(MPI_Info_set(info, "a key of nobody", "a value"));
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Session_get_info(session, &used));
    MUST(MPI_Info_get_string(used, "thread_level", &room, value, &flag));
    CHECK(flag);
    CHECK_STR(value, "MPI_THREAD_MULTIPLE");
    room = sizeof value;
    MUST(MPI_Info_get_string(used, "a key of nobody", &room, value, &flag));
    CHECK(!flag);
    MUST(MPI_Info_free(&used));
    MUST(MPI_Info_free(&info));
    CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
    MUST(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
    CHECK(MPI_Session_finalize(&session) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    handlers(session);
    MUST(MPI_Session_finalize(&session));
    hints();
    return check_finish();
}
