/* A message whose memory cannot be used, between messages whose memory can: memory WHO BYTES GOOD.
 * Of the buffer of WHO (send or receive), BYTES long, only the first GOOD bytes are memory, rounded
 * down to pages. Each rank says what became of its calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { AROUND = 100000 };

static int rank;
static unsigned char before[AROUND], after[AROUND];

static unsigned char *memory_that_ends(size_t bytes, size_t good)
{
    unsigned char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(start, rank + 1, good);
    if (good < bytes) mprotect(start + good, bytes - good, PROT_NONE);
    return start;
}

static void tell(const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "success";
    int class = error, length;
    MPI_Error_class(error, &class);
    if (error != MPI_SUCCESS) MPI_Error_string(error, text, &length);
    printf("rank %d: %s: %s: %s\n", rank, what, class == MPI_ERR_BUFFER ? "MPI_ERR_BUFFER" : "", text);
}

static int are(const unsigned char *bytes, int value)
{
    for (int i = 0; i < AROUND; i++)
        if (bytes[i] != value) return 0;
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int sends = rank == 0, is_bad = argc > 3 && (strcmp(argv[1], "send") == 0) == sends;
    size_t bytes = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, good = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    void *buffer = memory_that_ends(bytes, is_bad ? good - good % 65536 : bytes);
    int (*start)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        sends ? (int (*)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))MPI_Isend : MPI_Irecv;
    MPI_Request requests[3];
    /* Both know each other. */
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 7, before, 4, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(before, sends ? 5 : 0, AROUND);
    memset(after, sends ? 6 : 0, AROUND);
    start(before, AROUND, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    start(buffer, (int)bytes, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
    start(after, AROUND, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, &requests[2]);
    tell("before", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    tell("bad", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    tell("after", MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    if (!sends) printf("the others came %s\n", are(before, 5) && are(after, 6) ? "whole" : "damaged");
    MPI_Finalize();
    return 0;
}
