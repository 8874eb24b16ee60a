/* Opens a file that not all hosts see, and says what comes of it: unseen PATH.
 * Every rank prints the class of the error by name, and its text. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING];
    int rank, class, length;
    MPI_File fh;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    int error = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    printf("rank %d: %s: %s\n", rank, class == MPI_ERR_NO_SUCH_FILE ? "no such file" : "otherwise", text);
    /* Nobody is left behind in the call, and the communicator still works. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
