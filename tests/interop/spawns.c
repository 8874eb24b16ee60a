/* Starts three processes by MPI_Comm_spawn, and two of each of two programs by MPI_Comm_spawn_multiple; each says what
 * it was given, and all compute a sum with those who have started them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void meet(MPI_Comm inter, const char *who)
{
    int mine = rank + 1, sum = 0, far, expected;
    MPI_Comm_remote_size(inter, &far);
    expected = far * (far + 1) / 2;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    char big[100000];
    memset(big, 'a' + rank, sizeof big);
    if (rank == 0) MPI_Sendrecv_replace(big, sizeof big, MPI_CHAR, 0, 1, 0, 1, inter, MPI_STATUS_IGNORE);
    printf("%s %d of %d: %s\n", who, rank, size, sum == expected && big[77] == 'a' + rank ? "right" : "WRONG");
    fflush(stdout);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        meet(parent, argc > 2 && strcmp(argv[2], "a b=c") == 0 ? argv[1] : "wrong arguments");
    } else {
        char *words[] = {"child", "a b=c", NULL}, *first[] = {"first", "a b=c", NULL};
        char *second[] = {"second", "a b=c", NULL};
        char *commands[] = {argv[0], argv[0]}, **arguments[] = {first, second};
        int most[] = {2, 2}, codes[4] = {-1, -1, -1, -1}, good = 0;
        MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        MPI_Comm_spawn(argv[0], words, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
        for (int i = 0; i < 3; i++) good += codes[i] == MPI_SUCCESS;
        meet(inter, "parent");
        MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, size - 1, MPI_COMM_WORLD, &inter, codes);
        for (int i = 0; i < 4; i++) good += codes[i] == MPI_SUCCESS;
        meet(inter, "parent");
        if (good != 7) printf("WRONG: %d of 7 codes are MPI_SUCCESS\n", good);
    }
    MPI_Finalize();
    return 0;
}
