/* What C programs without any Fortran call of its binding (MPI-5.0 sections 19.3.4 and 19.3.5): handles and statuses as
 * Fortran has them, and back, with mpi.h alone.
 * ranks: 1 2
 */
#include "check.h"

/* An own handle and a predefined one survive the way to Fortran and back, under both names. */
#define THERE_AND_BACK(Kind, Handle, handle) \
    do { \
        Handle there_ = (handle); \
        CHECK(MPI_##Kind##_f2c(MPI_##Kind##_c2f(there_)) == there_); \
        CHECK_EQ(PMPI_##Kind##_c2f(there_), MPI_##Kind##_toint(there_)); \
        CHECK(PMPI_##Kind##_f2c(MPI_##Kind##_c2f(there_)) == there_); \
    } while (0)

static void handles(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Recv_init(&type, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &request);
    THERE_AND_BACK(Comm, MPI_Comm, MPI_COMM_WORLD);
    THERE_AND_BACK(Comm, MPI_Comm, MPI_COMM_NULL);
    THERE_AND_BACK(Comm, MPI_Comm, comm);
    THERE_AND_BACK(Group, MPI_Group, group);
    THERE_AND_BACK(Info, MPI_Info, info);
    THERE_AND_BACK(Type, MPI_Datatype, MPI_DOUBLE);
    THERE_AND_BACK(Type, MPI_Datatype, type);
    THERE_AND_BACK(Request, MPI_Request, request);
    THERE_AND_BACK(Op, MPI_Op, MPI_SUM);
    THERE_AND_BACK(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    THERE_AND_BACK(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    THERE_AND_BACK(Session, MPI_Session, MPI_SESSION_NULL);
    THERE_AND_BACK(File, MPI_File, MPI_FILE_NULL);
    THERE_AND_BACK(Win, MPI_Win, MPI_WIN_NULL);
    MPI_Request_free(&request), MPI_Type_free(&type), MPI_Info_free(&info);
    MPI_Group_free(&group), MPI_Comm_free(&comm);
}

static void statuses(void)
{
    int out = check_rank, in = -1, count = 0;
    MPI_Status status, again;
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    MPI_F08_status f08;
    MPI_Sendrecv(&out, 1, MPI_INT, check_rank, 9, &in, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &status);
    MUST(MPI_Status_c2f(&status, fortran));
    CHECK_EQ(fortran[MPI_F_TAG], 9);
    CHECK_EQ(fortran[MPI_F_SOURCE], check_rank);
    MUST(MPI_Status_f2f08(fortran, &f08));
    CHECK_EQ(f08.MPI_TAG, 9);
    memset(&again, 0, sizeof again);
    MUST(MPI_Status_f082c(&f08, &again));
    MPI_Get_count(&again, MPI_INT, &count);
    CHECK_EQ(count, 1);
    /* No Fortran part is there to ignore a status. */
    CHECK(MPI_F_STATUS_IGNORE != fortran);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQ(MPI_Status_f2c(NULL, &status), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    handles();
    statuses();
    return check_finish();
}
