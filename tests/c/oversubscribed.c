/* Sixteen ranks on however few cores there are: point-to-point and collectives finish in reasonable time with
 * no option and no setting, because a rank that waits gives way.
 * ranks: 16
 * alone
 */
#include "check.h"

static void rounds(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < 200; i++) {
        int in = -1, sum = 0;
        MPI_Sendrecv(&i, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != i) CHECK_EQ(in, i);
        if (i % 5 == 0) {
            MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK_EQ(sum, check_size * (check_size - 1) / 2);
        }
        if (i % 7 == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void everyone_to_everyone(void)
{
    enum { EACH = 20000 };
    int *out = check_alloc(sizeof(int) * EACH * check_size), *in = check_alloc(sizeof(int) * EACH * check_size);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < EACH; i++) out[r * EACH + i] = check_rank * 1000 + r + i;
    MPI_Alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++) CHECK_EQ(in[r * EACH + 7], r * 1000 + check_rank + 7);
    free(out), free(in);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    double start = MPI_Wtime();
    rounds();
    everyone_to_everyone();
    /* Milliseconds on a quiet machine of two cores; a library that spins takes much longer. */
    CHECK(MPI_Wtime() - start < 30);
    return check_finish();
}
