/* Prints which kinds of memory were asked for when the job was started, and which are there. */
#include <mpi.h>
#include <stdio.h>

static void print(const char *what, MPI_Info info)
{
    char value[MPI_MAX_INFO_VAL];
    int room = sizeof value, flag = 0;
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, value, &flag);
    printf("%s: %s\n", what, flag ? value : "nothing");
}

int main(int argc, char **argv)
{
    MPI_Info used;
    MPI_Init(&argc, &argv);
    print("asked", MPI_INFO_ENV);
    MPI_Comm_get_info(MPI_COMM_WORLD, &used);
    print("there", used);
    MPI_Info_free(&used);
    MPI_Finalize();
    return 0;
}
