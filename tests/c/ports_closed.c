/* A port that is closed is an error at once, also while the process that had it sleeps (MPI-5.0 section 11.9).
 * ranks: 2 4
 * timeout: 60
 */
#include "check.h"

enum { TURNS = 300 };

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    int server = check_rank % 2 == 0;
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, server, 0, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < TURNS; turn++) {
        if (check_rank == 0) MUST(MPI_Open_port(MPI_INFO_NULL, port));
        MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (turn % 3 == 0) {
            if (server)
                MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
            else
                MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
            MUST(MPI_Comm_disconnect(&inter));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0) MUST(MPI_Close_port(port));
        MPI_Barrier(MPI_COMM_WORLD);
        if (!server)
            CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter), MPI_ERR_PORT, "MPI_Comm_connect");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
    return check_finish();
}
