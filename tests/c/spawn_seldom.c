/* Programs that ask with MPI_Iprobe and sleep a millisecond in between (MPI-5.0 sections 3.8.1 and 11.8), as pools of
 * workers do: the connection of two processes of different worlds is made in few of these calls, not in hundreds.
 * ranks: 1
 * timeout: 120
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

/* A connection takes some ten calls of each side; where polls alone count, several hundred. */
enum { CHILDREN = 3, ASKS_MAX = 120, PATH_MAX_BYTES = 64 };

/* How often each child has asked. The parent asks no more often, so load cannot change what is counted. */
static int *asked_by;

static void share(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    size_t bytes = CHILDREN * sizeof(int);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    asked_by = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (asked_by == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
}

static int ask(MPI_Comm comm, int tag)
{
    int flag;
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, MPI_STATUS_IGNORE));
    usleep(1000);
    return flag;
}

/* Busy for a while with calls that find nothing and follow each other: the pace is learned anew afterwards. */
static void ask_fast(MPI_Comm comm)
{
    int flag;
    for (int i = 0; i < 300; i++) MUST(MPI_Iprobe(0, 99, comm, &flag, MPI_STATUS_IGNORE));
}

static void child(MPI_Comm parent)
{
    int failures;
    ask_fast(parent);
    while (!ask(parent, 1)) __atomic_add_fetch(&asked_by[check_rank], 1, __ATOMIC_SEQ_CST);
    MUST(MPI_Recv(NULL, 0, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE));
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, 2, parent));
    /* It serves its connection until the parent has the answer. */
    while (!ask(parent, 3)) __atomic_add_fetch(&asked_by[check_rank], 1, __ATOMIC_SEQ_CST);
    MUST(MPI_Recv(NULL, 0, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE));
    failures = (int)check_failures;
    MUST(MPI_Reduce(&failures, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
    MUST(MPI_Comm_disconnect(&parent));
}

/* Rounds in which both sides have asked, until the child's answer is here. */
static int rounds_until_answer(MPI_Comm inter, int rank)
{
    int rounds = 0, before = __atomic_load_n(&asked_by[rank], __ATOMIC_SEQ_CST);
    for (; !ask(inter, 2); rounds++) {
        /* A child that has the message and answers asks no more for a moment. */
        for (int i = 0; i < 1000 && __atomic_load_n(&asked_by[rank], __ATOMIC_SEQ_CST) == before; i++) usleep(100);
        before = __atomic_load_n(&asked_by[rank], __ATOMIC_SEQ_CST);
    }
    return rounds;
}

static void first_contact(MPI_Comm inter, int rank)
{
    MPI_Request request;
    while (__atomic_load_n(&asked_by[rank], __ATOMIC_SEQ_CST) == 0) usleep(1000);
    MUST(MPI_Isend(NULL, 0, MPI_INT, rank, 1, inter, &request));
    CHECK(rounds_until_answer(inter, rank) <= ASKS_MAX);
    MUST(MPI_Recv(NULL, 0, MPI_INT, rank, 2, inter, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Send(NULL, 0, MPI_INT, rank, 3, inter));
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    char path[PATH_MAX_BYTES], *words[] = {path, NULL};
    int failures = 0;
    check_init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        share(argv[1]);
        child(parent);
        MPI_Finalize();
        return 0;
    }
    snprintf(path, sizeof path, "/tmp/spawn_seldom.%d", getpid());
    share(path);
    MUST(MPI_Comm_spawn(argv[0], words, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    ask_fast(inter);
    for (int rank = CHILDREN - 1; rank >= 0; rank--) first_contact(inter, rank);
    MUST(MPI_Reduce(NULL, &failures, 1, MPI_INT, MPI_SUM, MPI_ROOT, inter));
    CHECK_EQ(failures, 0);
    MUST(MPI_Comm_disconnect(&inter));
    unlink(path);
    return check_finish();
}
