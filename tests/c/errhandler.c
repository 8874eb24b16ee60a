/* Error handlers (MPI-5.0 sections 9.3 to 9.5): predefined and user ones, inheritance, calling them, classes,
 * codes and strings.
 * ranks: 1 2
 */
#include "check.h"

static int calls, last_code, varargs_ok;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
    varargs_ok = 1;
}

/* It says what the call is to return. */
static void forgiving(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    *code = last_code;
}

static int wrong_send(MPI_Comm comm)
{
    int value = 0;
    return MPI_Send(&value, 1, MPI_INT, 1000, 0, comm);
}

static void user_handler(void)
{
    MPI_Comm comm, copy;
    MPI_Errhandler mine, got;
    int class = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MUST(MPI_Comm_create_errhandler(handler, &mine));
    MUST(MPI_Comm_set_errhandler(comm, mine));
    MUST(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == mine);
    MPI_Errhandler_free(&got);
    /* Freed here, used on by the communicator (section 9.3.4). */
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL);
    int code = wrong_send(comm);
    CHECK_EQ(calls, 1);
    CHECK(last_comm == comm);
    /* The handler is given 'the error code to be returned' (section 9.3.1). MPICH 5.0.2 returns success. */
    CHECK_EQ(code, last_code);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_RANK);
    /* A new communicator has its parent's handler. */
    MPI_Comm_dup(comm, &copy);
    wrong_send(copy);
    CHECK_EQ(calls, 2);
    CHECK(last_comm == copy);
    MUST(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
    CHECK_EQ(calls, 3);
    CHECK_EQ(last_code, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    code = wrong_send(copy);
    CHECK(code != MPI_SUCCESS);
    CHECK_EQ(calls, 3);
    MPI_Comm_free(&comm), MPI_Comm_free(&copy);
}

static void handler_that_changes_the_code(void)
{
    MPI_Comm comm;
    MPI_Errhandler mine;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MUST(MPI_Comm_create_errhandler(forgiving, &mine));
    MUST(MPI_Comm_set_errhandler(comm, mine));
    calls = 0;
    last_code = MPI_SUCCESS;
    CHECK_EQ(wrong_send(comm), MPI_SUCCESS);
    last_code = MPI_ERR_INTERN;
    CHECK_EQ(wrong_send(comm), MPI_ERR_INTERN);
    CHECK_EQ(calls, 2);
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
}

static void predefined(void)
{
    MPI_Errhandler got;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_ABORT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* Errors of completion go to the request's communicator: a truncated receive. */
    int big[2] = {1, 2}, small = 0, class = 0;
    MPI_Request request;
    MPI_Isend(big, 2, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &request);
    int code = MPI_Recv(&small, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void classes_and_codes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, class = 0, new_class = 0, new_code = 0, *last, flag;
    for (int c = MPI_SUCCESS; c <= MPI_ERR_RMA_SHARED; c++) {
        if (MPI_Error_class(c, &class) != MPI_SUCCESS) continue;
        MUST(MPI_Error_string(c, text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length);
    }
    MUST(MPI_Error_class(MPI_ERR_TRUNCATE, &class));
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    MUST(MPI_Add_error_class(&new_class));
    CHECK(new_class > MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last >= new_class);
    MUST(MPI_Add_error_code(new_class, &new_code));
    MUST(MPI_Add_error_string(new_class, "a class of my own"));
    MUST(MPI_Add_error_string(new_code, "a code of my own"));
    MUST(MPI_Error_class(new_code, &class));
    CHECK_EQ(class, new_class);
    MPI_Error_string(new_code, text, &length);
    CHECK_STR(text, "a code of my own");
    MPI_Error_string(new_class, text, &length);
    CHECK_STR(text, "a class of my own");
    /* Erroneous by section 9.5, and raised on MPI_COMM_SELF; MPICH 5.0.2 lets it pass. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Add_error_string(MPI_ERR_ARG, "not mine"), MPI_ERR_ARG, "MPI_Add_error_string");
    /* MPI-4.1 lets them go again, newest first (section 9.5). */
    MUST(MPI_Remove_error_string(new_code));
    MUST(MPI_Remove_error_string(new_class));
    MUST(MPI_Remove_error_code(new_code));
    MUST(MPI_Remove_error_class(new_class));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    user_handler();
    handler_that_changes_the_code();
    predefined();
    classes_and_codes();
    CHECK(varargs_ok);
    return check_finish();
}
