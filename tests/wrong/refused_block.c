/* Long blocks that the kernel cannot copy, since the root's buffer may not be read or written: every rank is told, with
 * a class and a sentence, and the call after it is right.
 *
 * Usage: refused_block gather|scatter */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 256 << 10 };

static int rank, size, wrong, cases;

static char *map(int protection)
{
    return mmap(NULL, (size_t)size * BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int call(int gathers, char *all, char *mine)
{
    if (gathers && rank == 0)
        return MPI_Gather(MPI_IN_PLACE, 0, MPI_CHAR, all, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (gathers) return MPI_Gather(mine, BYTES, MPI_CHAR, NULL, 0, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) return MPI_Scatter(all, BYTES, MPI_CHAR, MPI_IN_PLACE, 0, MPI_CHAR, 0, MPI_COMM_WORLD);
    return MPI_Scatter(NULL, 0, MPI_CHAR, mine, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void expect_refusal(const char *name, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    cases++;
    if (class == MPI_ERR_BUFFER && strstr(text, "the memory of rank")) return;
    wrong++;
    printf("rank %d, %s: class %d, %s\n", rank, name, class, text);
}

/* The same call with memory that may be used. */
static void expect_data(const char *name, int gathers, char *all, char *mine)
{
    memset(all, 1, (size_t)size * BYTES);
    memset(mine, 2, BYTES);
    cases++;
    const char *result = gathers ? all + (size_t)(size - 1) * BYTES : mine;
    int receives = gathers == (rank == 0);
    if (call(gathers, all, mine) == MPI_SUCCESS && (!receives || *result == (gathers ? 2 : 1))) return;
    wrong++;
    printf("rank %d, %s: no data after a refusal\n", rank, name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char *name = argc > 1 ? argv[1] : "gather";
    int gathers = strcmp(name, "gather") == 0;
    char *mine = malloc(BYTES), *good = map(PROT_READ | PROT_WRITE), *bad = map(PROT_NONE);
    memset(mine, 2, BYTES);
    for (int turn = 0; turn < 3; turn++) {
        expect_refusal(name, call(gathers, bad, mine));
        expect_data(name, gathers, good, mine);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d cases, %d wrong\n", cases, wrong);
    MPI_Finalize();
    return wrong != 0;
}
