/* Forked children (MPI-5.0 says nothing of them): MPI is over for a child, its calls are errors that say so, and
 * whatever it does and however it ends, its parent's messages are its parent's. Programs that are started are not
 * concerned.
 * ranks: 1 2 3
 * timeout: 30
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20 };

/* Every rank sends to the next, a short and a long message. */
static void ring(int round)
{
    static int out[50000], in[50000];
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    for (int count = 1; count <= 50000; count += 49999) {
        out[0] = check_rank + round, out[count - 1] = check_rank + round, in[count - 1] = -1;
        MUST(MPI_Sendrecv(out, count, MPI_INT, next, 3, in, count, MPI_INT, before, 3, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        CHECK_EQ(in[count - 1], before + round);
    }
}

/* Bits of what is wrong in the child, whose checks nobody would count. */
static int wrong_in_child(MPI_Comm comm, MPI_Request pending, MPI_Win win)
{
    int value = 0, length, class, flag = 0, wrong = 0;
    char text[MPI_MAX_ERROR_STRING];
    int codes[] = {
        MPI_Comm_rank(comm, &value),
        MPI_Send(&value, 1, MPI_INT, 0, 3, comm),
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE),
        MPI_Barrier(comm),
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win),
        MPI_Wait(&pending, MPI_STATUS_IGNORE),
        MPI_Init(NULL, NULL),
        MPI_Finalize(),
    };
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i] == MPI_SUCCESS || (MPI_Error_class(codes[i], &class), class != MPI_ERR_OTHER)) wrong |= 1;
        MPI_Error_string(codes[i], text, &length);
        if (!strstr(text, "forked")) fprintf(stderr, "call %u says: %s\n", i, text), wrong |= 2;
    }
    MPI_Finalized(&flag);
    return wrong | (flag ? 0 : 4);
}

static int status_of(pid_t child)
{
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm comm;
    MPI_Request pending;
    int never = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Irecv(&never, 1, MPI_INT, check_rank, 99, comm, &pending));
    int *memory;
    MPI_Win win;
    MUST(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, comm, &memory, &win));
    MUST(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) {
        ring(round);
        pid_t child = fork();
        if (child == 0) {
            int wrong = wrong_in_child(comm, pending, win);
            /* Exit handlers run in one of two. */
            if (round % 2) exit(wrong);
            _exit(wrong);
        }
        ring(round);
        CHECK_EQ(status_of(child), 0);
    }
    /* A child whose error is fatal ends, and nobody else. */
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(0);
    }
    int status = status_of(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    CHECK_EQ(system("true"), 0);
    ring(ROUNDS);
    MUST(MPI_Send(&never, 1, MPI_INT, check_rank, 99, comm));
    MUST(MPI_Wait(&pending, MPI_STATUS_IGNORE));
    *memory = 0;
    MUST(MPI_Put(&check_size, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    MUST(MPI_Win_unlock_all(win));
    CHECK_EQ(*memory, check_size);
    MUST(MPI_Win_free(&win));
    MPI_Comm_free(&comm);
    return check_finish();
}
