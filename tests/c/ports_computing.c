/* A port whose owner computes (MPI-5.0 section 11.9): who comes hears soon that it is closed, and in time that nobody
 * accepts.
 * ranks: 2
 * instances: default
 * timeout: 60
 */
#include "check.h"
#include <unistd.h>

/* Seconds: the owner computes so long before it closes the port and afterwards, and the other must know sooner. */
enum { OPEN = 2, CLOSED = 8, SOON = 4 };

static void compute(int seconds)
{
    usleep(seconds * 1000000);
}

/* The owner calls nothing of MPI but MPI_Close_port. */
static void own(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    compute(OPEN);
    MUST(MPI_Close_port(port));
    compute(CLOSED);
}

/* Connects to a port at which nobody accepts; how long that takes. */
static double knock(const char *port, const char *timeout, const char *why)
{
    MPI_Comm self, inter;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", timeout);
    double began = MPI_Wtime();
    CHECK_ERROR(MPI_Comm_connect(port, info, 0, self, &inter), MPI_ERR_PORT, why);
    double took = MPI_Wtime() - began;
    MPI_Info_free(&info);
    MPI_Comm_free(&self);
    return took;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    if (check_rank == 0) {
        own();
    } else {
        char port[MPI_MAX_PORT_NAME];
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(knock(port, "1", "within 1 s nobody called MPI_Comm_accept") < 2);
        /* It is closed meanwhile, and then it is closed already. */
        CHECK(knock(port, "30", "it was closed") < OPEN + SOON);
        CHECK(knock(port, "30", "") < SOON);
    }
    return check_finish();
}
