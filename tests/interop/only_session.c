/* A program that uses a session and never MPI_COMM_WORLD. Each rank prints the number of ranks. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int one = 1, sum = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "only", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("sum %d\n", sum);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return 0;
}
