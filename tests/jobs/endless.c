/* One kind of collective without end, small and large in turn, blocking and not: for the tests that kill a rank in
 * it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20, BLOCK_MAX = 64 << 10 };

static char *in, *out;
static int size;
static const MPI_Comm world = MPI_COMM_WORLD;

/* One call; `bytes` in all where there is one buffer, `block` for each rank elsewhere. */
static void call(const char *kind, int bytes, int block, int root)
{
    if (!strcmp(kind, "barrier")) MPI_Barrier(world);
    else if (!strcmp(kind, "bcast")) MPI_Bcast(in, bytes, MPI_BYTE, root, world);
    else if (!strcmp(kind, "reduce")) MPI_Reduce(in, out, bytes / 8, MPI_LONG, MPI_SUM, root, world);
    else if (!strcmp(kind, "allreduce")) MPI_Allreduce(in, out, bytes / 8, MPI_LONG, MPI_SUM, world);
    else if (!strcmp(kind, "gather")) MPI_Gather(in, block, MPI_BYTE, out, block, MPI_BYTE, root, world);
    else if (!strcmp(kind, "scatter")) MPI_Scatter(in, block, MPI_BYTE, out, block, MPI_BYTE, root, world);
    else if (!strcmp(kind, "allgather")) MPI_Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, world);
    else if (!strcmp(kind, "alltoall")) MPI_Alltoall(in, block, MPI_BYTE, out, block, MPI_BYTE, world);
    else if (!strcmp(kind, "reduce_scatter"))
        MPI_Reduce_scatter_block(in, out, block / 8, MPI_LONG, MPI_SUM, world);
    else if (!strcmp(kind, "scan")) MPI_Scan(in, out, bytes / 8, MPI_LONG, MPI_SUM, world);
    else if (!strcmp(kind, "nonblocking")) {
        MPI_Request request;
        MPI_Iallreduce(in, out, bytes / 8, MPI_LONG, MPI_SUM, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(kind, "split")) {
        MPI_Comm half;
        MPI_Comm_split(world, root % 2, 0, &half);
        MPI_Allreduce(in, out, block / 8, MPI_LONG, MPI_SUM, half);
        MPI_Comm_free(&half);
    } else MPI_Abort(world, 9);
}

int main(int argc, char **argv)
{
    static const int sizes[4] = {8, 4 << 10, BLOCK_MAX, BYTES_MAX};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(world, &size);
    size_t room = (size_t)size * BLOCK_MAX;
    if (room < BYTES_MAX) room = BYTES_MAX;
    in = calloc(room, 1), out = calloc(room, 1);
    for (int i = 0;; i = (i + 1) % 1000000) {
        int bytes = sizes[i % 4];
        call(argv[1], bytes, bytes < BLOCK_MAX ? bytes : BLOCK_MAX, i % size);
    }
}
