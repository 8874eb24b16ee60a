/* MPI_Comm_idup waits for nobody, however many copies there are and however they descend from each other (MPI-5.0
 * sections 2.4 and 7.4.2), and messages stay on the copy on which they were sent.
 * ranks: 1 2 3
 */
#include "check.h"

enum { COPIES = 300, DEPTH = 8 };

/* Every rank but the last makes its copies before the last one begins. */
static void copies(MPI_Comm base)
{
    static MPI_Comm made[COPIES];
    static MPI_Request requests[COPIES];
    int last = check_size - 1, token = 0, wrong = 0;
    if (check_rank == last)
        for (int from = 0; from < last; from++)
            MUST(MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < COPIES; i++) MUST(MPI_Comm_idup(base, &made[i], &requests[i]));
    if (check_rank != last) MUST(MPI_Send(&token, 1, MPI_INT, last, 0, MPI_COMM_WORLD));
    MUST(MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE));
    int right = (check_rank + 1) % check_size, left = (check_rank + last) % check_size, got[COPIES];
    for (int i = COPIES - 1; i >= 0; i--) MUST(MPI_Irecv(&got[i], 1, MPI_INT, left, 0, made[i], &requests[i]));
    for (int i = 0; i < COPIES; i++) MUST(MPI_Send(&i, 1, MPI_INT, right, 0, made[i]));
    MUST(MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COPIES; i++) wrong += got[i] != i;
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < COPIES; i++) MUST(MPI_Comm_free(&made[i]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    copies(MPI_COMM_WORLD);
    MPI_Comm chain[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        MUST(MPI_Comm_dup(i ? chain[i - 1] : MPI_COMM_WORLD, &chain[i]));
        if (i > 1) copies(chain[i]);
    }
    for (int i = 0; i < DEPTH; i++) MUST(MPI_Comm_free(&chain[i]));
    return check_finish();
}
