/* Values that are no handles: each is refused, and the message has it. Where handles are addresses, a program that is
 * not position independent has copies of the predefined objects, so this is compiled both ways. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void refused(const char *what, int code, int wanted, uintptr_t value)
{
    char text[MPI_MAX_ERROR_STRING] = "", digits[32];
    int class = MPI_SUCCESS, length = 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (sizeof(MPI_Comm) < sizeof value)
        value &= 0xffffffff;
    snprintf(digits, sizeof digits, "0x%lx is no", (unsigned long)value);
    if (class != wanted || !strstr(text, digits)) {
        printf("%s, %s: class %d, %s\n", what, digits, class, text);
        failures++;
    }
}

int main(int argc, char **argv)
{
    int number = 0, rank = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void *heap = malloc(64);
    memset(heap, 1, 64);
    /* MPICH's world, the standard's, no address at all, the program's own memory, and memory that is not there. */
    uintptr_t strays[] = {0x44000000, 0x101, 0x4c000498, 8, (uintptr_t)heap, (uintptr_t)&number & ~(uintptr_t)7,
        0x7ffffff0, (uintptr_t)1 << 46};
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
        if ((MPI_Comm)strays[i] != MPI_COMM_WORLD)
            refused("MPI_Comm_rank", MPI_Comm_rank((MPI_Comm)strays[i], &rank), MPI_ERR_COMM, strays[i]);
        int sent = MPI_Send(&number, 1, (MPI_Datatype)strays[i], 0, 0, MPI_COMM_SELF);
        refused("MPI_Send", sent, MPI_ERR_TYPE, strays[i]);
    }
    if (rank != 7 || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0)
        failures++;
    puts(failures ? "failed" : "all refused");
    MPI_Finalize();
    return failures != 0;
}
