/* Programs that ask with MPI_Iprobe and sleep a millisecond in between (MPI-5.0 sections 3.8.1 and 11.8), as pools of
 * workers do: the connection of two processes of different worlds is made in few of these calls, not in thousands.
 * ranks: 1
 * timeout: 120
 */
#include <unistd.h>
#include "check.h"

/* A connection takes some ten of them, and more on a machine under load; where polls alone count, several hundred. */
enum { CHILDREN = 3, ASKS_MAX = 250 };

/* Asks until a message has come; how often. */
static int asks(MPI_Comm comm, int tag)
{
    int asked = 0, flag = 0;
    MPI_Status status;
    for (; !flag; asked++) {
        MUST(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, &status));
        if (!flag) usleep(1000);
    }
    MUST(MPI_Recv(NULL, 0, MPI_INT, status.MPI_SOURCE, tag, comm, MPI_STATUS_IGNORE));
    return asked;
}

/* Busy for a while with calls that find nothing and follow each other: the pace is learned anew afterwards. */
static void ask_fast(MPI_Comm comm)
{
    int flag;
    for (int i = 0; i < 300; i++) MUST(MPI_Iprobe(0, 99, comm, &flag, MPI_STATUS_IGNORE));
}

static void child(MPI_Comm parent)
{
    /* Children hear of the first one alone in a collective call; the parent is a stranger to the others. */
    ask_fast(parent);
    int asked = asks(parent, 1);
    CHECK(asked <= ASKS_MAX);
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, 2, parent));
    int failures = (int)check_failures;
    MUST(MPI_Reduce(&failures, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
    MUST(MPI_Comm_disconnect(&parent));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent, inter;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent);
        MPI_Finalize();
        return 0;
    }
    MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                        MPI_ERRCODES_IGNORE));
    ask_fast(inter);
    for (int i = CHILDREN - 1; i >= 0; i--) {
        MPI_Request request;
        MUST(MPI_Isend(NULL, 0, MPI_INT, i, 1, inter, &request));
        int asked = asks(inter, 2);
        CHECK(asked <= ASKS_MAX);
        if (getenv("SPAWN_SELDOM_SAYS")) fprintf(stderr, "child %d: %d calls\n", i, asked);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    int failures = 0;
    MUST(MPI_Reduce(NULL, &failures, 1, MPI_INT, MPI_SUM, MPI_ROOT, inter));
    CHECK_EQ(failures, 0);
    MUST(MPI_Comm_disconnect(&inter));
    return check_finish();
}
