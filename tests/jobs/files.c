/* All ranks write to a file, sync it, and are killed while they go on: files PATH.
 * Byte i of what was synced belongs to rank i / BLOCK % ranks, and is its number and one. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64, BYTES = 64 * 1024 };

static char data[BYTES], more[BYTES];

int main(int argc, char **argv)
{
    int rank, size;
    MPI_File fh;
    MPI_Datatype block, tile;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * size, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(fh, (MPI_Offset)BLOCK * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    memset(data, rank + 1, BYTES);
    memset(more, 99, BYTES);
    /* One part together, one by each rank alone, one non-blocking. */
    MPI_File_write_at_all(fh, 0, data, BYTES / 2, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_at(fh, BYTES / 2, data, BYTES / 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_iwrite_at(fh, BYTES / 4 * 3, data, BYTES / 4, MPI_BYTE, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_File_sync(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_iwrite_at_all(fh, BYTES, more, BYTES, MPI_BYTE, &requests[0]);
    MPI_File_iwrite_at(fh, 2 * BYTES, more, BYTES, MPI_BYTE, &requests[1]);
    kill(getpid(), SIGKILL);
    return 0;
}
